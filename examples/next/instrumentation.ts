// Next.js calls this once when a server starts, and not when it builds: from here on the process delivers.
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return;
  const { sender } = await import('@/webhooks');
  await sender.start();
}
