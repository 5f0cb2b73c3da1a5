/** The reporter's result of a test. */
export interface TestReport {
  readonly passed: boolean
  readonly name: string
  readonly file: string
  readonly nesting: number
  readonly skipped: boolean
  readonly durationMs: number
  /** `failureType` of Node's test runner. */
  readonly failure?: string
  /** Code of the value that the test threw. */
  readonly code?: string
  readonly message: string
}

export type Verdict =
  /** By an assertion, an error, or a wait that ended soon. */
  | { readonly kind: 'noticed'; readonly test: string; readonly by: string }
  /** Only by a time-out, which no developer would wait for. */
  | { readonly kind: 'timed out'; readonly test: string; readonly by: string }
  /** The code could not run, which says nothing about the tests. */
  | { readonly kind: 'does not run'; readonly test: string; readonly by: string }
  | { readonly kind: 'survived' }

/** The maximum wait for a condition, in milliseconds. */
const WAIT_MAX_MS = 60_000

/** Values of `failureType` for a test that was ended, or whose promise could never settle. */
const TIME_OUTS: ReadonlySet<string> = new Set(['testTimeoutFailure', 'cancelledByParent', 'testAborted'])
const ASSERTION = 'ERR_ASSERTION'
const BROKEN_CODE =
  /compiling script|attempt to (?:index|call|perform|compare|concatenate)|Script attempted|is not defined|Transform failed|does not provide an export|SyntaxError/i

/** The result of reports of a run with a broken promise. @param cutOff whether the run was ended at its limit */
export function verdictOf(reports: readonly TestReport[], cutOff: boolean): Verdict {
  const failures = reports.filter((report) => !report.passed && report.failure !== 'subtestsFailed')
  const hasRun = (file: string) =>
    reports.some((report) => report.file === file && !report.skipped && !isOfFile(report))
  const broken = failures.find((report) => {
    return BROKEN_CODE.test(report.message) || (!cutOff && isExit(report) && !hasRun(report.file))
  })
  if (broken !== undefined) return { kind: 'does not run', ...testAndMessage(broken) }
  const noticed = failures.filter((failure) => !isTimeOut(failure))
  const best = noticed.find(({ code }) => code === ASSERTION) ?? noticed[0]
  if (best !== undefined) return { kind: 'noticed', ...testAndMessage(best) }
  const late = failures[0]
  if (late !== undefined) return { kind: 'timed out', ...testAndMessage(late) }
  return cutOff ? { kind: 'timed out', test: '', by: 'the run did not end' } : { kind: 'survived' }
}

function isTimeOut(report: TestReport): boolean {
  const { failure, durationMs, code } = report
  if (failure === undefined || TIME_OUTS.has(failure)) return true
  // A file that was ended at its limit, without reports of its tests.
  if (isOfFile(report)) return true
  return code !== ASSERTION && durationMs > WAIT_MAX_MS
}

/** The runner reports a file as a test when its process failed. */
function isOfFile({ name, file }: TestReport): boolean {
  return file.endsWith(name)
}

function isExit(report: TestReport): boolean {
  return isOfFile(report) && report.failure === 'testCodeFailure'
}

function testAndMessage({ name, message }: TestReport): { readonly test: string; readonly by: string } {
  const line = message.split('\n').filter((text) => text.trim() !== '')
  return { test: name, by: line.slice(0, 3).join(' ').replace(/\s+/g, ' ') }
}
