/** What every page is given. */
export interface PageProps {
  /** Of the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>
}
