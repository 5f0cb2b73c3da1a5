/** Runs a statement with parameters, and returns its rows. Its text may have a thousand ids of companies; 64-bit numbers are numbers. */
export type AskRows = <Row>(query: string, parameters: AskParameters) => Promise<readonly Row[]>

export type AskParameters = Readonly<Record<string, string>> & { readonly tenant: string }
