import { Releases } from '../../../bench/run/releases.ts'

/** Cleanup of a run; it replaces a test's context in `test/support/`. */
export class CleanUp extends Releases {
  after(hook: () => Promise<void> | void): void {
    this.add(async () => hook())
  }
}
