export { HookplaneModule } from './hookplane.module.js';
export type { HookplaneModuleAsyncOptions, HookplaneModuleOptions, ModuleScope } from './options.js';
export { HOOKPLANE_SENDER, InjectSender } from './sender.module.js';
