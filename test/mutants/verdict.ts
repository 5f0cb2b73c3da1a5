/** What the reporter says of a test. */
export interface TestReport {
  readonly passed: boolean
  readonly name: string
  readonly file: string
  readonly nesting: number
  readonly skipped: boolean
  readonly durationMs: number
  /** `failureType` of Node's test runner. */
  readonly failure?: string
  /** Of what the test threw. */
  readonly code?: string
  readonly message: string
}

export type Verdict =
  /** By an assertion, an error, or a wait that ended soon. */
  | { readonly kind: 'noticed'; readonly test: string; readonly by: string }
  /** Only by what took too long: nobody waits for that. */
  | { readonly kind: 'timed out'; readonly test: string; readonly by: string }
  /** The code could not even run, which says nothing of the tests. */
  | { readonly kind: 'does not run'; readonly test: string; readonly by: string }
  | { readonly kind: 'survived' }

/** A wait for something that does not come may take so long, milliseconds. */
const WAIT_MAX_MS = 60_000

/** Of `failureType`: a test that was ended, or whose promise nothing would settle any more. */
const TIME_OUTS: ReadonlySet<string> = new Set(['testTimeoutFailure', 'cancelledByParent', 'testAborted'])
const ASSERTION = 'ERR_ASSERTION'
const BROKEN_CODE =
  /compiling script|attempt to (?:index|call|perform|compare|concatenate)|Script attempted|is not defined|Transform failed|does not provide an export|SyntaxError/i

/** What reports of a run with a broken promise say. @param cutOff whether the run had to be ended */
export function verdictOf(reports: readonly TestReport[], cutOff: boolean): Verdict {
  const failures = reports.filter((report) => !report.passed && report.failure !== 'subtestsFailed')
  const hasRun = (file: string) =>
    reports.some((report) => report.file === file && !report.skipped && !isOfFile(report))
  const broken = failures.find((report) => {
    return BROKEN_CODE.test(report.message) || (!cutOff && isExit(report) && !hasRun(report.file))
  })
  if (broken !== undefined) return { kind: 'does not run', ...told(broken) }
  const noticed = failures.filter((failure) => !isTimeOut(failure))
  const best = noticed.find(({ code }) => code === ASSERTION) ?? noticed[0]
  if (best !== undefined) return { kind: 'noticed', ...told(best) }
  const late = failures[0]
  if (late !== undefined) return { kind: 'timed out', ...told(late) }
  return cutOff ? { kind: 'timed out', test: '', by: 'the run did not end' } : { kind: 'survived' }
}

function isTimeOut(report: TestReport): boolean {
  const { failure, durationMs, code } = report
  if (failure === undefined || TIME_OUTS.has(failure)) return true
  // A file that had to be ended, whose tests said nothing.
  if (isOfFile(report)) return true
  return code !== ASSERTION && durationMs > WAIT_MAX_MS
}

/** The runner reports a file like a test when its process failed. */
function isOfFile({ name, file }: TestReport): boolean {
  return file.endsWith(name)
}

function isExit(report: TestReport): boolean {
  return isOfFile(report) && report.failure === 'testCodeFailure'
}

function told({ name, message }: TestReport): { readonly test: string; readonly by: string } {
  const line = message.split('\n').filter((text) => text.trim() !== '')
  return { test: name, by: line.slice(0, 3).join(' ').replace(/\s+/g, ' ') }
}
