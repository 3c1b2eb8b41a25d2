// Loaded before each file of a run on PostgreSQL.
process.env.HOOKPLANE_TEST_STORE = 'postgres';
