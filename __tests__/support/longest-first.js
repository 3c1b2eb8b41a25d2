const Sequencer = require('@jest/test-sequencer').default;

/** Begun last, each of these would be waited for when all others are done. Jest knows how long they take from its second run on. */
const LONGEST = [
  'dashboard/views',
  'sender/failing-store',
  'faults/faults',
  'store/postgres',
  'dashboard/served-page',
  'admin/fuzz',
  'nest/nest-12',
  'express/csrf-browser',
  'admin/tenant-canary',
  'store/postgres-processes',
].map((name) => `/__tests__/${name}.test.ts`);

const rank = ({ path }) => {
  const index = LONGEST.findIndex((end) => path.replaceAll('\\', '/').endsWith(end));
  return index < 0 ? LONGEST.length : index;
};

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
};
