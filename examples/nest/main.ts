import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule);
  // So that a signal lets the attempts under way come to their end.
  app.enableShutdownHooks();
  await app.listen(process.env.PORT ?? 3000, '127.0.0.1');
  console.log(`Orders at ${await app.getUrl()}/orders, the control plane at ${await app.getUrl()}/admin`);
}

void main();
