import { Releases } from '../../../bench/run/releases.ts'

/** What a run has to end and remove; takes the place of a test's context in `test/support/`. */
export class CleanUp extends Releases {
  after(hook: () => Promise<void> | void): void {
    this.add(async () => hook())
  }
}
