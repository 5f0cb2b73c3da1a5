import { systemClock } from '../../src/run/clock.ts'
import { crmWorld } from './crm.ts'

/* A process that brings a CRM up to date, for a test that kills it. It ends with the test, see the open input. */

export interface CrmProcess {
  readonly redisUrl: string
  readonly clickhouseUrl: string
  readonly origin: string
  readonly processName: string
}

process.stdin.on('end', () => process.exit()).resume()
const given = JSON.parse(process.argv[2]!) as CrmProcess
await crmWorld({ ...given, clock: systemClock, pause: async () => {} })
  .syncer()
  .start()
