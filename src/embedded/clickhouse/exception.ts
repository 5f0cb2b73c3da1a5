/** An error of ClickHouse: a code of its ErrorCodes.cpp and a text. */
export class Exception extends Error {
  override name = 'Exception'
  readonly code: number

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  /** The text that a server sends. */
  get text(): string {
    return `Code: ${this.code}. DB::Exception: ${this.message}\n`
  }
}

/** The codes that this server raises. */
export const Code = {
  AttemptToReadAfterEof: 32,
  BadArguments: 36,
  ChecksumDoesntMatch: 40,
  NotImplemented: 48,
  SyntaxError: 62,
  UnknownFormat: 73,
  UnknownCompressionMethod: 89,
  UnknownSetting: 115,
  TooLargeSizeCompressed: 131,
  TooManySimultaneousQueries: 202,
  QueryIsTooLarge: 229,
  QueryWithSameId: 216,
  Aborted: 236,
  MemoryLimitExceeded: 241,
  CannotDecompress: 271,
  NotEnoughSpace: 243,
  SessionNotFound: 372,
  SessionIsLocked: 373,
  InvalidSessionTimeout: 374,
  SettingConstraintViolation: 452,
  AccessDenied: 497,
  AuthenticationFailed: 516,
  UserSessionLimitExceeded: 700,
  Unknown: 1002,
} as const

/** @param bytesMax limit of a decoded request */
export function tooLarge(bytesMax: number): Exception {
  const message = `The request is larger than ${bytesMax} bytes: send it in parts. (QUERY_IS_TOO_LARGE)`
  return new Exception(Code.QueryIsTooLarge, message)
}

const PREFIX = /^(?:Query failed: )?(?:Code: (\d+)\. DB::Exception: )+/

/** Converts an error of the engine. */
export function exceptionOf(error: unknown): Exception {
  if (error instanceof Exception) return error
  const message = error instanceof Error ? error.message : String(error)
  const match = PREFIX.exec(message)
  return match === null
    ? new Exception(Code.Unknown, message, { cause: error })
    : new Exception(Number(match[1]), message.slice(match[0].length), { cause: error })
}

/** From src/Server/HTTP/exceptionCodeToHTTPStatus.cpp. */
const STATUSES: Readonly<Record<number, readonly number[]>> = {
  400: [6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 167, 168, 223, 321, 376, 427, 441, 675, 676],
  401: [194],
  403: [192, 193, 497, 512, 516],
  404: [46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511],
  408: [159],
  411: [381],
  413: [229],
  415: [779],
  501: [48],
  503: [76, 209, 439],
}

const STATUS_BY_CODE = new Map(
  Object.entries(STATUSES).flatMap(([status, codes]) => codes.map((code) => [code, Number(status)] as const)),
)

/** The HTTP status of a ClickHouse server for an exception. */
export function statusOf(code: number): number {
  return STATUS_BY_CODE.get(code) ?? 500
}
