import { connectRedis } from '../../src/stores/redis/connect.ts'
import { quiet } from './pipeline.ts'
import { scheduledBackups } from './scheduled-backups.ts'
import { handClock } from './tenants.ts'

/* A process that writes scheduled backups, for a test that kills it. It ends with the test, see the open input. */

export interface BackupProcess {
  readonly redisUrl: string
  readonly folder: string
  readonly nowMs: number
  /** Stops before the row is written, and waits for ever. */
  readonly hangsWhileReading?: boolean
  readonly rowBytes?: number
}

const { redisUrl, folder, nowMs, hangsWhileReading, rowBytes = 1 } = JSON.parse(process.argv[2]!) as BackupProcess
process.stdin.on('end', () => process.exit()).resume()
const client = quiet(connectRedis(redisUrl, { name: 'backups', kind: 'loop', timeoutMs: 5_000 }))
const onRow = async () => {
  if (!hangsWhileReading) return
  process.stdout.write('reading\n')
  await new Promise(() => {})
}
await scheduledBackups({ client, folder, clock: handClock(nowMs), onRow, rowBytes }).start()
