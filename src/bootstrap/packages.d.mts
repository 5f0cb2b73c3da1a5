/** Types of packages.mjs, which cannot be TypeScript: it installs the packages that TypeScript needs. */
export function ensurePackages(options: { withDev: boolean; root?: string; sayEveryMs?: number }): Promise<void>
