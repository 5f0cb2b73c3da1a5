import { open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { partName } from '../../../../enrichment/files/replace-file.ts'
import { numbered } from '../../../../run/counted.ts'
import { InputError, StartupError } from '../../../../run/errors.ts'
import type { CliContext } from '../../../../terminal/context.ts'
import { passOn, printJson, printLine, printMore } from '../../../../terminal/print.ts'
import type { BatchApi, RejectedAnswer } from './api.ts'

interface RejectedChoice {
  /** Undefined: standard output. */
  readonly out?: string
  readonly json?: boolean
}

/**
 * Writes the rejected lines of a job. A file is there as a whole, or not at all.
 * @throws StartupError when the answer breaks off; InputError when the file cannot be written
 */
export async function writeRejected(
  api: BatchApi,
  jobId: string,
  { out, json }: RejectedChoice,
  context: CliContext,
): Promise<void> {
  const answer = await api.rejected(jobId)
  const { lines, complete } = answer
  try {
    if (out !== undefined) await writeFile(out, answer)
    else if (json) await writeJson(jobId, answer, context)
    else await writeLines(answer, context)
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new StartupError(`the rejected lines broke off: ${(error as Error).message}`)
  }
  if (out !== undefined && json) printJson(context.stdout, { job_id: jobId, lines, complete, file: out })
  else if (out !== undefined) printLine(context.stdout, `${numbered(lines, 'rejected line')} in ${out}`)
  if (complete) return
  const why = 'the job has not ended, or has more than are kept'
  printLine(context.stderr, `ipid: these may not be all: ${why}; see ./ipid batch show ${jobId}`)
}

async function writeFile(path: string, { body }: RejectedAnswer): Promise<void> {
  const part = join(dirname(path), partName(basename(path)))
  const file = await open(part, 'w', 0o600).catch((error: Error) => {
    throw new InputError(`cannot write ${path}: ${error.message}`)
  })
  try {
    await pipeline(body, file.createWriteStream({ flush: true }))
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Strangers choose what is in the lines, so a terminal gets no control characters of them. */
async function writeLines({ body }: RejectedAnswer, { stdout }: CliContext): Promise<void> {
  const isTerminal = (stdout as { isTTY?: boolean }).isTTY === true
  for await (const bytes of body as AsyncIterable<Buffer>) {
    if (isTerminal) await printMore(stdout, bytes.toString())
    else await passOn(stdout, bytes)
  }
}

/** One JSON value, written as it comes. */
async function writeJson(jobId: string, { body, complete }: RejectedAnswer, { stdout }: CliContext): Promise<void> {
  await printMore(stdout, `{"job_id":${JSON.stringify(jobId)},"complete":${complete},"rejected":[`)
  let end = ''
  for await (const piece of body.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = end + piece
    end = lines.endsWith('\n') ? '\n' : ''
    await printMore(stdout, lines.slice(0, lines.length - end.length).replaceAll('\n', ','))
  }
  await printMore(stdout, ']}\n')
}
