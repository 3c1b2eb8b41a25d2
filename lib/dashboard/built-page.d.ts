/** The bundle of lib/dashboard/app, as scripts/build-dashboard.mjs writes it. package.json says where it is. */
declare module '#dashboard-page' {
  const page: {
    /** The shell, with placeholders for what the settings say. */
    html: string;
    /** By path; the bytes of each encoding in base64. */
    files: Readonly<Record<string, { type: string; br: string; gzip: string }>>;
  };
  export default page;
}
