import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { isTooDeep } from '../../event/json-depth.ts'
import { jsonObject } from './json-lines.ts'
import { BLANK, type LineFormat, type LineReader, type LineResult, PART, type ReadLineOptions } from './line-format.ts'

/*
 * What collects the output of programs puts something around each of their lines. It is taken off before a format reads the line, so no
 * format knows of it. Whether a file has it is decided once, with its format.
 */

/** A line of a program, or a part of one. */
interface Part {
  readonly text: string
  /** The rest comes in a later line of the same stream. */
  readonly isPart?: boolean
  /** The stream that it was written to. Streams are mixed in one file. */
  readonly stream?: string | undefined
}

interface Wrapper {
  /** Before the name of a format, as in `cri+combined`. */
  readonly name: string
  /** Undefined: nothing of this kind is around the line. */
  unwrap(line: string): Part | undefined
}

/** Docker cuts longer lines into parts, and gives the line feed to the last one. */
const DOCKER_PART_BYTES = 16_384

/** Docker's driver `json-file`. */
const docker: Wrapper = {
  name: 'docker',
  unwrap(line) {
    if (!line.startsWith('{') || !line.includes('"log":') || isTooDeep(line)) return undefined
    const { log, stream } = jsonObject(line) ?? {}
    if (typeof log !== 'string' || (stream !== 'stdout' && stream !== 'stderr')) return undefined
    if (log.endsWith('\n')) return { text: log.slice(0, log.endsWith('\r\n') ? -2 : -1), stream }
    return { text: log, stream, isPart: Buffer.byteLength(log) >= DOCKER_PART_BYTES }
  },
}

/** The format of Kubernetes' container runtime interface: time, stream, tags, and the line. A tag `P` marks a part. */
const CRI = /^\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([PF])(?::\S*)? (.*)$/s

const cri: Wrapper = {
  name: 'cri',
  unwrap(line) {
    const [, stream, tag, text] = CRI.exec(line) ?? []
    return text === undefined ? undefined : { text, stream, isPart: tag === 'P' }
  },
}

/** RFC 5424, perhaps after the length of RFC 6587: priority, version, time, host, program, process, message id, structured data. */
const SYSLOG =
  /^(?:\d{1,6} )?<\d{1,3}>1 \S{1,64} \S{1,255} \S{1,48} \S{1,128} \S{1,32} (?:-|(?:\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\])+)(?: \ufeff?(.*))?$/s
/** RFC 3164, also as rsyslog and journald write it into files: priority, time, host and program, each of which may be missing. */
const BSD_SYSLOG =
  /^(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d{1,9})?|\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:?\d\d)) (?:\S+ ){0,2}?[^\s:[\]]{1,64}(?:\[[\w.-]{1,32}\])?: (.*)$/s
const PRIORITY = /^<\d{1,3}>(?=\S)(.*)$/s

const syslog: Wrapper = {
  name: 'syslog',
  unwrap(line) {
    const text = (SYSLOG.exec(line) ?? BSD_SYSLOG.exec(line) ?? PRIORITY.exec(line))?.[1]
    // rsyslog keeps the blank that is before the message in RFC 3164.
    return text === undefined ? undefined : { text: text.trimStart() }
  },
}

/** As `docker logs --timestamps` and `kubectl logs --timestamps` print lines. */
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d) (.*)$/s

const time: Wrapper = {
  name: 'time',
  unwrap(line) {
    const text = TIME.exec(line)?.[1]
    return text === undefined ? undefined : { text }
  },
}

const WRAPPERS: readonly Wrapper[] = [docker, cri, syslog, time]
/** As of a program that sends RFC 5424 to the output of its container. */
const NESTED_MAX = 2

/** The streams of a program take turns, so the rest of a line comes soon. A program that was killed never writes it. */
const LINES_BETWEEN_PARTS_MAX = 1_000

/** Takes one wrapper off the lines of a file, and joins the parts of a line. */
class Unwrapper {
  readonly #wrapper: Wrapper
  /** Parts whose rest is still to come, by stream. */
  readonly #parts = new Map<string | undefined, string>()
  /** Whole lines since the last part. */
  #linesSince = 0

  constructor(wrapper: Wrapper) {
    this.#wrapper = wrapper
  }

  get hasParts(): boolean {
    return this.#parts.size > 0
  }

  /** The program's line, or why there is none. */
  unwrap(line: string): string | LineResult {
    const part = this.#wrapper.unwrap(line)
    if (part === undefined)
      return { rejected: `has no prefix of ${this.#wrapper.name}, which other lines of the file have` }
    const text = (this.#parts.get(part.stream) ?? '') + part.text
    this.#parts.delete(part.stream)
    if (text.length > BATCH_LIMITS.lineMaxBytes) {
      return { rejected: `has parts of more than ${BATCH_LIMITS.lineMaxBytes} characters` }
    }
    if (part.isPart !== true) {
      if (this.hasParts && ++this.#linesSince >= LINES_BETWEEN_PARTS_MAX) this.#parts.clear()
      return text.trim() === '' ? BLANK : text
    }
    this.#linesSince = 0
    this.#parts.set(part.stream, text)
    return PART
  }
}

class WrappedReader implements LineReader {
  header: string | undefined
  readonly #unwrapper: Unwrapper
  readonly #inner: LineReader

  constructor(wrapper: Wrapper, inner: LineReader) {
    this.#unwrapper = new Unwrapper(wrapper)
    this.#inner = inner
  }

  get isBetween(): boolean {
    return !this.#unwrapper.hasParts && this.#inner.isBetween !== false
  }

  read(line: string): LineResult {
    const text = this.#unwrapper.unwrap(line)
    if (typeof text !== 'string') return text
    const { header } = this.#inner
    const result = this.#inner.read(text)
    if (this.#inner.header !== header) this.header = line
    return result
  }
}

/** The format of lines that have the wrapper around them. */
function wrappedFormat(wrapper: Wrapper, format: LineFormat): LineFormat {
  return {
    name: `${wrapper.name}+${format.name}`,
    about: format.about,
    recognises: (lines) => format.recognises(textsIn(wrapper, lines) ?? []),
    reader: (options: ReadLineOptions) => new WrappedReader(wrapper, format.reader(options)),
  }
}

/** The lines of programs in these lines; undefined when most have no such wrapper. */
function textsIn(wrapper: Wrapper, lines: readonly string[]): readonly string[] | undefined {
  const unwrapper = new Unwrapper(wrapper)
  const found = lines.map((line) => unwrapper.unwrap(line))
  const others = found.filter((text) => typeof text !== 'string' && 'rejected' in text)
  if (lines.length === 0 || others.length * 2 > lines.length) return undefined
  return found.filter((text) => typeof text === 'string')
}

/** Whether most of the lines have something around them. */
export function isWrapped(lines: readonly string[]): boolean {
  return WRAPPERS.some((wrapper) => textsIn(wrapper, lines) !== undefined)
}

/**
 * Finds the format of lines, also when they are wrapped.
 * @param find the format of unwrapped lines @returns undefined when no lines have one
 */
export function unwrappedFormat(
  lines: readonly string[],
  find: (texts: readonly string[]) => LineFormat | undefined,
  depth = 0,
): LineFormat | undefined {
  const found = find(lines)
  if (found !== undefined || depth === NESTED_MAX) return found
  for (const wrapper of WRAPPERS) {
    const texts = textsIn(wrapper, lines)
    const inner = texts && unwrappedFormat(texts, find, depth + 1)
    if (inner !== undefined) return wrappedFormat(wrapper, inner)
  }
  return undefined
}

/** @param name of a format, perhaps with wrappers before it: `cri+combined` @param named finds a format by its own name */
export function wrappedNamed(name: string, named: (name: string) => LineFormat | undefined): LineFormat | undefined {
  const at = name.indexOf('+')
  if (at < 0) return named(name)
  const wrapper = WRAPPERS.find((one) => one.name === name.slice(0, at))
  const inner = wrapper && wrappedNamed(name.slice(at + 1), named)
  return wrapper && inner && wrappedFormat(wrapper, inner)
}
