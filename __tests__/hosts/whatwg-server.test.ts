import { servedPlaneContract } from '../contracts/served-plane.js';
import { exampleContract, servedByExample } from './examples.js';

describe('examples/whatwg-server/server.mjs', () => {
  exampleContract('whatwg-server/server.mjs');
  servedPlaneContract(servedByExample('whatwg-server/server.mjs'));
});
