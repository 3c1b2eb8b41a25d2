/** What the server has put into the shell. */
export interface Configuration {
  /** Where the control plane is. */
  adminUrl: string;
  /** What the page is called. */
  title: string;
}

function readConfiguration(): Configuration {
  const content = document.querySelector<HTMLMetaElement>('meta[name="hookplane"]')?.content ?? '{}';
  const { adminUrl = '/admin', title = 'Webhooks' } = JSON.parse(content) as Partial<Configuration>;
  return { adminUrl, title };
}

export const configuration = readConfiguration();
