import { hash } from 'node:crypto'
import { appendFileSync, mkdirSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { SingleBar } from 'cli-progress'
import { filteredSum, filteredText } from '../../../../../schemas/filtered.ts'
import type { Config } from '../../../../config/config.ts'
import { trustedDataDir } from '../../../../embedded/processes/data-dir.ts'
import { trustedProxies } from '../../../../http/engine/trusted-proxies.ts'
import { InputError, StartupError } from '../../../../run/errors.ts'
import { pause } from '../../../../run/loop.ts'
import { writePrivateFile } from '../../../../run/private-file.ts'
import { type SocketLock, takeLock } from '../../../../run/socket-lock.mjs'
import type { CliContext } from '../../../../terminal/context.ts'
import { apiBaseOf } from '../../../../terminal/instance.ts'
import { printJson, printLine, printPairs } from '../../../../terminal/print.ts'
import { progressBar } from '../../batch/commands/progress-bar.ts'
import { formatNamed, LINE_FORMATS } from '../../formats/formats.ts'
import type { LineFormat } from '../../formats/line-format.ts'
import type { Mapping } from '../../mapped-fields.ts'
import { parseMapping } from '../../mapping.ts'
import { Checkpoint } from '../checkpoint.ts'
import { LogSync, type SyncTally } from '../log-sync.ts'
import { SourceSender, StoppedError } from '../sender.ts'
import { WatchedPath } from '../watched-path.ts'

export interface SyncChoice {
  readonly source: string
  readonly follow?: boolean
  readonly format: string
  readonly map?: readonly string[]
  readonly all?: boolean
  readonly site?: string
  readonly url?: string
  readonly json?: boolean
}

const EXIT_FAILED = 1
/** The conventional exit code after Ctrl-C. */
const EXIT_INTERRUPTED = 130
const POLL_MS = 500
const PATIENCE_MS = 300_000
/** How long to wait for batch jobs, so that the reasons of filtered events can be printed. */
const JUDGED_MS = 20_000
const SOURCE_KEY = /^src_[0-9a-f]{40}$/

/**
 * Sends the events of log files to a source.
 * @returns the exit code: 1 when no line could be used; 130 after Ctrl-C, but 0 when it ended the following
 * @throws InputError and StartupError; everything sent until then is in the checkpoint, and was printed
 */
export async function syncFiles(
  files: readonly string[],
  choice: SyncChoice,
  config: Config,
  context: CliContext,
): Promise<number> {
  if (!SOURCE_KEY.test(choice.source)) throw new InputError('--source: a source key is src_ and 40 hexadecimal digits')
  const { format, mapping } = formatOf(choice)
  const site = choice.site === undefined ? undefined : siteOf(choice.site)
  const inputs = inputsOf(files, choice)
  const base = await apiBaseOf(choice.url, config)
  const { checkpoint, lock } = await openCheckpoint(config, choice.source)
  const { stop } = context.stopSignals()
  const bar = choice.json || choice.follow ? undefined : progressBar(context, 'reading', 'bytes')
  const warn = (text: string) => printLine(context.stderr, text)
  const sender = new SourceSender({
    base,
    key: choice.source,
    patienceMs: choice.follow ? Number.POSITIVE_INFINITY : PATIENCE_MS,
    remedy: 'the checkpoint has all that was sent: run the command again',
    stop,
    onTrouble: (problem) => warn(`${problem}: trying again`),
  })
  const sync = new LogSync({
    ...{ format, mapping, site, all: choice.all === true, checkpoint, stop },
    trusted: trustedProxies(config.own.TRUSTED_PROXIES as readonly string[]),
    send: (lines) => sender.send(lines),
    judged: (jobId) => sender.judged(jobId),
  })
  try {
    await run(inputs, sync, checkpoint, choice, context, bar, stop, warn)
    bar?.stop()
    await sync.judge(JUDGED_MS)
  } catch (error) {
    if (!(error instanceof StoppedError)) {
      printTally(context, sync.tally, choice)
      throw error
    }
  } finally {
    bar?.stop()
    await lock.release()
  }
  printTally(context, sync.tally, choice)
  if (stop.aborted) return choice.follow ? 0 : EXIT_INTERRUPTED
  return sync.tally.sent === 0 && sync.tally.rejected > 0 ? EXIT_FAILED : 0
}

async function run(
  { paths, streams, bytes }: Inputs,
  sync: LogSync,
  checkpoint: Checkpoint,
  { follow = false }: SyncChoice,
  { stdin }: CliContext,
  bar: SingleBar | undefined,
  stop: AbortSignal,
  warn: (text: string) => void,
): Promise<void> {
  let read = 0
  const onRead = (count: number) => {
    read += count
    bar?.update(read)
  }
  bar?.start(streams.length > 0 ? 0 : bytes, 0)
  let failure: unknown
  const watched = paths.map((path) => new WatchedPath(path, sync, checkpoint, { follow, onRead, warn }))
  try {
    do {
      for (const path of watched) {
        if (stop.aborted) break
        try {
          await path.round()
        } catch (error) {
          if (follow) throw error
          // A damaged file does not stop the others from being read, nor its own part before the damage.
          failure ??= error
          await sync.settle()
        }
      }
      if (follow && !stop.aborted) await pause(POLL_MS, stop)
    } while (follow && !stop.aborted)
  } finally {
    for (const path of watched) await path.close()
  }
  if (failure !== undefined) throw failure
  for (const name of streams) {
    const { createReadStream } = await import('node:fs')
    const source: NodeJS.ReadableStream = name === '-' ? stdin : createReadStream(name)
    stop.addEventListener('abort', () => 'destroy' in source && (source as NodeJS.ReadStream).destroy())
    await sync.readStream(name, source as AsyncIterable<Buffer>)
    await sync.settle()
  }
}

interface Inputs {
  readonly paths: readonly string[]
  /** Pipes, and `-`. */
  readonly streams: readonly string[]
  /** Total size of the files. */
  readonly bytes: number
}

function inputsOf(files: readonly string[], { follow }: SyncChoice): Inputs {
  const paths: string[] = []
  const streams: string[] = []
  let bytes = 0
  // The checkpoint holds paths, which must mean the same in every folder.
  for (const file of new Set(files.map((name) => (name === '-' ? name : resolve(name))))) {
    const stats: Stats | undefined = file === '-' ? undefined : statSync(file, { throwIfNoEntry: false })
    if (file === '-' || stats?.isFIFO() || stats?.isCharacterDevice()) streams.push(file)
    else if (stats?.isFile() || (stats === undefined && follow)) paths.push(file)
    else throw new InputError(`${file} is not a readable file`)
    bytes += stats?.size ?? 0
  }
  if (follow && streams.length > 0)
    throw new InputError(`--follow: ${streams[0]} is not a file, and is read to its end`)
  return { paths, streams, bytes }
}

function formatOf({ format, map }: SyncChoice): {
  readonly format: LineFormat | undefined
  readonly mapping: Mapping | undefined
} {
  const mapping = map && parseMapping(map)
  const name = format === 'auto' && mapping !== undefined ? 'json' : format
  if (name === 'auto') return { format: undefined, mapping }
  const found = formatNamed(name)
  if (found === undefined) {
    throw new InputError(`--format "${name}": must be auto, ${LINE_FORMATS.map((one) => one.name).join(', ')}`)
  }
  if (mapping !== undefined && name !== 'json') throw new InputError(`--map is for --format json, not ${name}`)
  return { format: found, mapping }
}

/** The origin of a site: `www.example.com` is `https://www.example.com`. */
function siteOf(text: string): string {
  const written = text.includes('://') ? text : `https://${text}`
  const url = URL.canParse(written) ? new URL(written) : undefined
  const isSite = url !== undefined && /^https?:$/.test(url.protocol) && HOST.test(url.hostname)
  if (isSite && url.href === `${url.origin}/`) return url.origin
  throw new InputError(
    `--site ${JSON.stringify(text)}: must be a host, as in www.example.com, or with its scheme and port: http://www.example.com:8080`,
  )
}

const HOST = /^(?:[\w-]{1,63}\.)*[\w-]{1,63}$|^\[[\da-f:.]+\]$/

/** @throws StartupError when another command reads for the same source */
async function openCheckpoint(
  config: Config,
  key: string,
): Promise<{ readonly checkpoint: Checkpoint; readonly lock: SocketLock }> {
  const dir = trustedDataDir(config.dataDir)
  const folder = join(dir.path, 'sync')
  for (const path of [folder, dirname(dir.lock)]) mkdirSync(path, { recursive: true, mode: 0o700 })
  const digest = hash('sha256', key, 'hex')
  const file = join(folder, `${key.slice(0, 11)}-${digest.slice(0, 8)}.json`)
  const lock = await takeLock(join(dirname(dir.lock), `sync-${digest.slice(0, 6)}`))
  if (lock === undefined) {
    throw new StartupError(
      `another "ipid sync" sends to ${key.slice(0, 11)} from ${dir.path}: give it all files, or stop it first`,
    )
  }
  try {
    const checkpoint = Checkpoint.load(file, {
      replace: (content) => writePrivateFile(file, content),
      append: (content) => appendFileSync(file, content),
    })
    return { checkpoint, lock }
  } catch (error) {
    await lock.release()
    throw error
  }
}

function printTally({ stdout, stderr }: CliContext, tally: SyncTally, { json }: SyncChoice): void {
  const { lines, sent, filtered, invalidIp, noIp, unjudged, skipped, rejected, reasons, errors } = tally
  const noise = filteredSum(filtered)
  const skippedLines = [...skipped.values()].reduce((sum, by) => sum + by, 0)
  if (json) {
    printJson(stdout, {
      ...{
        lines,
        sent,
        filtered: noise,
        filtered_reasons: filtered,
        unjudged,
        invalid_ip: invalidIp,
        no_ip: noIp,
        skipped: skippedLines,
        skipped_reasons: Object.fromEntries(skipped),
      },
      ...{ rejected, rejected_reasons: Object.fromEntries(reasons), errors },
    })
    return
  }
  printPairs(stdout, [
    ['lines', lines],
    ['sent', sent],
    ...(noise === 0 ? [] : [['  filtered', `${noise} (${filteredText(filtered)})`] as const]),
    ...(
      [
        ['  invalid_ip', invalidIp],
        ['  no_ip', noIp],
        ['  not judged yet', unjudged],
      ] as const
    ).filter(([, count]) => count > 0),
    ['skipped', withReasons(skippedLines, skipped)],
    ['rejected', withReasons(rejected, reasons)],
  ])
  for (const { file, line, reason } of errors) printLine(stderr, `${basename(file)}, line ${line} ${reason}`)
}

function withReasons(total: number, reasons: ReadonlyMap<string, number>): string | number {
  if (total === 0) return total
  return `${total} (${[...reasons].map(([reason, by]) => `${by}: ${reason}`).join('; ')})`
}
