import { runRole } from './cli/start/run-roles.ts'
import { ignoreBrokenPipes } from './terminal/broken-pipes.ts'

/** Runs the roles of a child of `ipid start` in this process, and exits with its code. */
export async function main(): Promise<void> {
  ignoreBrokenPipes()
  process.exit(await runRole(() => import('./app.ts')))
}
