import { createReadStream, statSync } from 'node:fs'
import { type Readable, Transform } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Presets, SingleBar } from 'cli-progress'
import type { BatchJob } from '../../../schemas/api/batch.ts'
import { InputError } from '../../core/run/errors.ts'
import { poll } from '../../runner/loop.ts'
import type { CliContext } from '../context.ts'
import { printJson, printPairs } from '../print.ts'
import type { BatchApi } from './api.ts'
import { csvToNdjson } from './csv-events.ts'

const POLL_MS = 250
const EXIT_FAILED = 1

export interface UploadChoice {
  readonly format?: string
  readonly wait?: boolean
  readonly json?: boolean
}

/** Uploads a file as a batch job. Returns the exit code: 1 when the job failed. */
export async function uploadFile(
  api: BatchApi,
  file: string,
  choice: UploadChoice,
  context: CliContext,
): Promise<number> {
  const source = openSource(file, choice.format, context)
  const bar = choice.json ? undefined : progressBar(context)
  bar?.start(source.bytes ?? 0, 0, { what: 'uploading', unit: 'bytes' })
  let accepted: Awaited<ReturnType<BatchApi['upload']>>
  try {
    accepted = await api.upload(
      source.open((sent) => bar?.update(sent)),
      source.gzip,
    )
  } finally {
    bar?.stop()
  }
  if (!choice.wait) {
    if (choice.json) printJson(context.stdout, accepted)
    else
      printPairs(context.stdout, [
        ['job', accepted.job_id],
        ['status', accepted.status],
        ['received', accepted.received],
      ])
    return 0
  }
  const job = await waitForEnd(api, accepted.job_id, accepted.received, choice.json ? undefined : progressBar(context))
  return showJob(job, choice.json === true, context)
}

/** Prints a job. Returns the exit code: 1 when it failed. */
export function showJob(job: BatchJob, json: boolean, { stdout }: CliContext): number {
  const code = job.status === 'failed' ? EXIT_FAILED : 0
  if (json) {
    printJson(stdout, job)
    return code
  }
  const { errors = [], ...counts } = job.result_summary ?? {}
  printPairs(stdout, [
    ['job', job.job_id],
    ['status', job.status],
    ['progress', job.progress_message],
    ...Object.entries(counts).map(([name, count]) => [name, count as number] as const),
  ])
  for (const { line, detail } of errors) stdout.write(`line ${line}: ${detail}\n`)
  return code
}

async function waitForEnd(api: BatchApi, jobId: string, total: number, bar: SingleBar | undefined): Promise<BatchJob> {
  bar?.start(total, 0, { what: 'processing', unit: 'events' })
  try {
    const ended = async () => {
      const job = await api.job(jobId)
      bar?.update(job.progress_current)
      return job.status === 'completed' || job.status === 'failed' ? job : undefined
    }
    // Nothing ends the wait but the job.
    return (await poll(ended, { everyMs: POLL_MS }))!
  } finally {
    bar?.stop()
  }
}

interface Source {
  /** Bytes that will be read; undefined when that is not known. */
  readonly bytes: number | undefined
  /** Whether what is sent is gzip. */
  readonly gzip: boolean
  open(onProgress: (bytes: number) => void): Readable
}

/** @throws InputError when the file cannot be read or its format is not known */
function openSource(file: string, format: string | undefined, context: CliContext): Source {
  const gzip = file.endsWith('.gz')
  const kind = format ?? formatOf(file)
  if (kind !== 'ndjson' && kind !== 'csv') throw new InputError(`--format "${kind}": wants ndjson or csv`)
  const isCsv = kind === 'csv'
  const bytes = file === '-' ? undefined : sizeOf(file)
  return {
    bytes,
    gzip: gzip && !isCsv,
    open(onProgress) {
      const raw = file === '-' ? context.stdin : createReadStream(file, { highWaterMark: 262_144 })
      const counted = raw.pipe(countBytes(onProgress))
      raw.on('error', (error: Error) => counted.destroy(error))
      return isCsv ? csvToNdjson(counted, gzip ? createGunzip() : undefined) : counted
    },
  }
}

function formatOf(file: string): string {
  return /\.csv(\.gz)?$/i.test(file) ? 'csv' : 'ndjson'
}

function sizeOf(file: string): number {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats?.isFile()) throw new InputError(`${file} is not a file that can be read`)
  return stats.size
}

function countBytes(onProgress: (bytes: number) => void): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      onProgress(bytes)
      done(null, chunk)
    },
  })
}

/** On a terminal a bar with rate and time left; elsewhere nothing. */
function progressBar({ stderr }: CliContext): SingleBar {
  const startedAt = performance.now()
  return new SingleBar(
    {
      stream: stderr,
      noTTYOutput: false,
      hideCursor: true,
      format: (options, { progress, value, total, eta }, { what, unit }) => {
        const width = options.barsize ?? 30
        const filled = Math.round(progress * width)
        const seconds = (performance.now() - startedAt) / 1_000
        const rate = Math.round(value / Math.max(seconds, 0.001)).toLocaleString('en-US')
        const bar = '█'.repeat(filled) + '░'.repeat(width - filled)
        const percent = String(Math.floor(progress * 100)).padStart(3)
        return `${what} ${bar} ${percent} %  ${value.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} ${unit}  ${rate}/s  ${eta} s left`
      },
    },
    Presets.shades_classic,
  )
}
