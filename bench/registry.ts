/**
 * Compiles a synthetic registry, as `ipid` does for `ripe.db.inetnum.gz`, in a process of its own. Reports CPU and memory.
 *
 *     OBJECTS=1000000 node --import tsx bench/registry.ts
 *
 * Allocations of /16 hold blocks of customers, pools and the provider; a quarter refer to an organisation of the second file.
 */
import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'
import { writeRegistry } from '../src/enrichment/files/build/registry-writer.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../src/enrichment/limits.ts'

const objects = Number(process.env.OBJECTS ?? 1_000_000)
const organisations = Math.min(250_000, Math.ceil(objects / 4))
/** Objects about each /16. */
const PER_ALLOCATION = 1_024
const TRADES = ['Bakery', 'Machines', 'Logistics', 'Pharma', 'Insurance', 'Foods', 'Steel', 'Optics'] as const
const FORMS = ['GmbH', 'Ltd', 'S.r.l.', 'SAS', 'B.V.', 'AB', 'sp. z o.o.', 'Oy'] as const

function companyOf(i: number): string {
  return `${String.fromCharCode(65 + (i % 26))}${(i * 2_654_435_761).toString(36).slice(-6)} ${TRADES[i % 8]} ${FORMS[(i >> 3) % 8]}`
}

function tailOf(i: number, status: string): string {
  return [
    'country:        DE',
    'admin-c:        DUMY-RIPE',
    'tech-c:         DUMY-RIPE',
    `status:         ${status}`,
    `mnt-by:         PROVIDER${Math.floor(i / PER_ALLOCATION)}-MNT`,
    'created:        2011-10-08T17:16:08Z',
    'last-modified:  2026-03-06T19:09:12Z',
    'source:         RIPE',
    'remarks:        ****************************',
    'remarks:        * THIS OBJECT IS MODIFIED',
    '\n',
  ].join('\n')
}

function objectOf(i: number): string {
  const place = Math.floor(i / PER_ALLOCATION)
  const within = i % PER_ALLOCATION
  const start = `${1 + (place >> 8)}.${place & 255}`
  if (within === 0) {
    return `inetnum:        ${start}.0.0 - ${start}.255.255\nnetname:        DE-PROVIDER${place}\norg:            ORG-L${place % organisations}-RIPE\n${tailOf(i, 'ALLOCATED PA')}`
  }
  const first = `${start}.${within >> 2}.${(within & 3) << 6}`
  const last = `${start}.${within >> 2}.${((within & 3) << 6) + 63}`
  const range = `inetnum:        ${first} - ${last}`
  if (within % 8 === 1)
    return `${range}\nnetname:        POOL-${i}\ndescr:          Provider ${place}\ndescr:          dynamic IP pool ${within}\n${tailOf(i, 'ASSIGNED PA')}`
  if (within % 4 === 2) {
    return `${range}\nnetname:        NET-${i}\norg:            ORG-E${i % organisations}-RIPE\n${tailOf(i, 'ASSIGNED PA')}`
  }
  return `${range}\nnetname:        NET-${i}\ndescr:          ${companyOf(i)}\ndescr:          Hauptstrasse ${within}\ndescr:          12345 Musterstadt\n${tailOf(i, 'ASSIGNED PA')}`
}

async function writeFile(path: string, count: number, object: (i: number) => string): Promise<void> {
  function* parts() {
    yield '% A synthetic registry\n\n'
    for (let i = 0; i < count; i += 500) {
      let part = ''
      for (let j = i; j < Math.min(count, i + 500); j++) part += object(j)
      yield part
    }
  }
  await pipeline(Readable.from(parts()), createGzip({ level: 1 }), createWriteStream(path))
}

async function compile(path: string): Promise<void> {
  const startedMs = performance.now()
  const { parts, objects: read, warnings } = await writeRegistry(path, DEFAULT_ENRICHMENT_LIMITS)
  const { user, system } = process.cpuUsage()
  process.stdout.write(
    `${JSON.stringify({
      objects: read,
      compiled_mb: Math.round(parts!.reduce((sum, { length }) => sum + length, 0) / 1e6),
      cpu_s: Math.round((user + system) / 1e5) / 10,
      wall_s: Math.round((performance.now() - startedMs) / 100) / 10,
      peak_rss_mb: Math.round(process.resourceUsage().maxRSS / 1_024),
      warnings,
    })}\n`,
  )
}

const [given] = process.argv.slice(2)
if (given !== undefined) await compile(given)
else {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-registry-'))
  try {
    const path = join(dir, 'ripe.db.inetnum.gz')
    await writeFile(path, objects, objectOf)
    await writeFile(join(dir, 'ripe.db.organisation.gz'), 2 * organisations, (i) => {
      const [kind, name] = i < organisations ? ['E', companyOf(i)] : ['L', `Provider ${i - organisations} Telecom AG`]
      return `organisation:   ORG-${kind}${i % organisations}-RIPE\norg-name:       ${name}\norg-type:       ${kind === 'E' ? 'OTHER' : 'LIR'}\naddress:        ***\nsource:         RIPE\n\n`
    })
    process.stdout.write(`${objects} objects, ${Math.round((await stat(path)).size / 1e6)} MB of gzip\n`)
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ['--import', 'tsx', fileURLToPath(import.meta.url), path])
    process.stdout.write(stdout)
  } finally {
    await rm(dir, { recursive: true })
  }
}
