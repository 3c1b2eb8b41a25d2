import { join } from 'node:path';
import { createSender, sqliteStore } from 'hookplane';
import { postgresStore } from 'hookplane/postgres';
import { TYPE } from '../webhook.mjs';

export async function open({ endpoints, concurrency, delivered, store, folder, postgresUrl }) {
  const sender = createSender({
    store:
      store === 'postgres'
        ? postgresStore({ connectionString: postgresUrl })
        : sqliteStore({ file: join(folder, 'bench.sqlite') }),
    allowHttp: true,
    allowTargets: ['127.0.0.1'],
    concurrency,
    logger: { error: console.error, warn() {}, info() {}, debug() {} },
  });
  await sender.start();
  for (const [index, url] of endpoints.entries()) {
    await sender.endpoints.create({ url, types: [`${TYPE}.${index}`] });
  }
  sender.on('attempt', ({ attempt }) => {
    if (attempt.status === 'succeeded') delivered();
  });
  return {
    sendMany: (datas) =>
      datas.length === 1 ? sender.send(messageOf(datas[0])) : sender.sendMany(datas.map(messageOf)),
    close: () => sender.stop(),
  };
}

const messageOf = ({ data, endpoint }) => ({ type: `${TYPE}.${endpoint}`, data });
