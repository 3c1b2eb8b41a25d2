export default async function stop() {
  await globalThis.hookplanePostgres?.stop();
}
