/** Properties of every page. */
export interface PageProps {
  /** Parameters of the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>
}
