import type { SingleBar } from 'cli-progress'
import type { BatchAccepted, BatchJob } from '../../../../../schemas/api/batch.ts'
import { nounFor, numbered } from '../../../../run/counted.ts'
import { InputError } from '../../../../run/errors.ts'
import { poll } from '../../../../run/loop.ts'
import type { CliContext } from '../../../../terminal/context.ts'
import { printJson, printLine } from '../../../../terminal/print.ts'
import type { KeyMap } from '../files/conversion.ts'
import { isEncoding } from '../files/encoding.ts'
import { FORMATS, type Format, NoGoodRowsError } from '../files/event-file.ts'
import { DATE_ORDERS, type DateOrder } from '../files/timestamps.ts'
import type { BatchApi } from './api.ts'
import { BadRows } from './bad-rows.ts'
import { EXIT_FAILED, exitCodeOf, printAccepted, printBadRows, printJob, rejectedIn } from './job-output.ts'
import { progressBar } from './progress-bar.ts'
import { openSource, type Source, type SourceChoice } from './source-file.ts'

const POLL_MS = 250
/** The conventional exit code after Ctrl-C. */
const EXIT_INTERRUPTED = 130

export interface UploadChoice {
  readonly format?: string
  readonly map?: readonly string[]
  readonly dateOrder?: string
  readonly encoding?: string
  readonly wait?: boolean
  readonly allowRejected?: boolean
  readonly label?: string
  readonly json?: boolean
}

/**
 * Uploads a file as a batch job.
 * @returns the exit code: 1 when the job failed or no row was usable; 130 after Ctrl-C
 * @throws InputError when the file is unreadable or has no address
 */
export async function uploadFile(
  api: BatchApi,
  file: string,
  choice: UploadChoice,
  context: CliContext,
): Promise<number> {
  const bad = new BadRows()
  const bar = choice.json ? undefined : progressBar(context, 'uploading', 'bytes')
  const source = await openSource(file, sourceChoice(choice), context, (bytes) => bar?.update(bytes), bad)
  // Handle Ctrl-C from here on: before, there is nothing to clean up.
  const { stop } = context.stopSignals()
  const accepted = await send(api, source, choice.label, bar, stop).catch((error: unknown) => {
    if (error instanceof NoGoodRowsError) return error
    throw error
  })
  if (accepted instanceof NoGoodRowsError) {
    if (choice.json) printJson(context.stdout, { status: 'rejected', unreadable: bad })
    else printBadRows(context.stdout, bad)
    return EXIT_FAILED
  }
  if (accepted === undefined) {
    printLine(context.stderr, `upload cancelled: nothing of ${file} was stored`)
    return EXIT_INTERRUPTED
  }
  if (!choice.wait) {
    if (choice.json) printJson(context.stdout, { ...accepted, unreadable: bad })
    else printAccepted(context.stdout, accepted, bad)
    return 0
  }
  if (!choice.json) {
    const events = `${numbered(accepted.received, 'event')} ${nounFor(accepted.received, 'is', 'are')} queued`
    printLine(context.stderr, `job ${accepted.job_id}: ${events}; Ctrl-C does not stop the job`)
  }
  const job = await waitForEnd(api, accepted, choice, context, stop)
  if (job === undefined) {
    if (choice.json) printJson(context.stdout, { ...accepted, unreadable: bad })
    printLine(context.stderr, `the job continues; follow it with: ./ipid batch show ${accepted.job_id}`)
    return EXIT_INTERRUPTED
  }
  if (choice.json) printJson(context.stdout, { ...job, unreadable: bad })
  else printJob(context.stdout, job, bad)
  const rejected = rejectedIn(job, bad)
  if (job.status !== 'completed' || rejected === 0 || choice.allowRejected) return exitCodeOf(job)
  const lines = `${numbered(rejected, 'line')} ${nounFor(rejected, 'was', 'were')} rejected`
  printLine(context.stderr, `ipid: ${lines}: exit code 1, unless --allow-rejected is given`)
  return EXIT_FAILED
}

/** Returns undefined when `stop` cancelled the upload. Nothing of the file is stored then. */
async function send(
  api: BatchApi,
  { body, gzip, bytes }: Source,
  label: string | undefined,
  bar: SingleBar | undefined,
  stop: AbortSignal,
): Promise<BatchAccepted | undefined> {
  const cancelled = new Promise<undefined>((resolve) => {
    const cancel = () => {
      // Once the body is sent, there is a job. Wait for the answer.
      if (body.readableEnded) return
      body.destroy()
      resolve(undefined)
    }
    if (stop.aborted) cancel()
    else stop.addEventListener('abort', cancel)
  })
  bar?.start(bytes ?? 0, 0)
  try {
    return await Promise.race([api.upload(body, gzip, label), cancelled])
  } finally {
    bar?.stop()
  }
}

/** Returns undefined when `stop` ended the wait. */
async function waitForEnd(
  api: BatchApi,
  { job_id: jobId, received }: BatchAccepted,
  { json }: UploadChoice,
  context: CliContext,
  stop: AbortSignal,
): Promise<BatchJob | undefined> {
  const bar: SingleBar | undefined = json ? undefined : progressBar(context, 'processing', 'events')
  bar?.start(received, 0)
  try {
    const ended = async () => {
      const job = await api.job(jobId)
      bar?.update(job.progress_current)
      return job.status === 'completed' || job.status === 'failed' ? job : undefined
    }
    return await poll(ended, { everyMs: POLL_MS, signal: stop })
  } finally {
    bar?.stop()
  }
}

/** @throws InputError for an invalid option */
function sourceChoice({ format, map, dateOrder, encoding }: UploadChoice): SourceChoice {
  if (encoding !== undefined && !isEncoding(encoding)) {
    throw new InputError(`--encoding "${encoding}": must be a name such as windows-1252 or utf-16le`)
  }
  return {
    format: oneOf<Format>('--format', FORMATS, format),
    dateOrder: oneOf<DateOrder>('--date-order', DATE_ORDERS, dateOrder),
    encoding,
    map: keyMap(map ?? []),
  }
}

function oneOf<T extends string>(flag: string, known: readonly T[], given: string | undefined): T | undefined {
  const found = known.find((name) => name === given)
  if (given !== undefined && found === undefined) {
    throw new InputError(`${flag} "${given}": must be ${known.join(' or ')}`)
  }
  return found
}

function keyMap(pairs: readonly string[]): KeyMap {
  return new Map(
    pairs.map((pair): [string, string] => {
      const at = pair.lastIndexOf('=')
      if (at < 1 || at === pair.length - 1) throw new InputError(`--map "${pair}": must be COLUMN=KEY`)
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
    }),
  )
}
