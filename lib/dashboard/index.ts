export type { DashboardHandler } from './handler.js';
export { createDashboardHandler } from './handler.js';
export type { DashboardHandlerOptions } from './options.js';
