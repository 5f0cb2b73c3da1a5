/** What a run has to end and remove; takes the place of a test's context in `test/support/`. */
export class CleanUp {
  readonly #hooks: (() => Promise<void>)[] = []

  after(hook: () => Promise<void> | void): void {
    this.#hooks.push(async () => hook())
  }

  /** The last first; goes on behind one that fails, and throws the first failure at the end. */
  async run(): Promise<void> {
    const failures: unknown[] = []
    for (let hook = this.#hooks.pop(); hook !== undefined; hook = this.#hooks.pop()) {
      await hook().catch((error: unknown) => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }
}
