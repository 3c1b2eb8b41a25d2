import { useDashboard } from './opened-page.js';
import { testAccess } from './views/access.js';
import { testAccessibility } from './views/accessibility.js';
import { testEndpoints } from './views/endpoints.js';
import { testFurther } from './views/further.js';
import { testHostileData } from './views/hostile-data.js';
import { testMessages } from './views/messages.js';
import { testReplay } from './views/replay.js';

// One browser and one application for all of them: to start them takes longer than most tests.
const dashboard = useDashboard();

// The first: axe takes the longer, the longer the lists are.
describe('accessibility', () => testAccessibility(dashboard));
describe('access', () => testAccess(dashboard));
describe('messages', () => testMessages(dashboard));
describe('endpoints', () => testEndpoints(dashboard));
describe('replay', () => testReplay(dashboard));
describe('other views', () => testFurther(dashboard));
describe('hostile data', () => testHostileData(dashboard));
