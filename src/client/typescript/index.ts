export { Ipid, type IpidOptions, type RequestOptions, type WaitOptions } from './client.ts'
export {
  API_ERROR_CODES,
  type ApiErrorCode,
  CLIENT_ERROR_CODES,
  type ClientErrorCode,
  type ErrorCode,
  type Fault,
  IpidError,
} from './errors.ts'
export type { FailedEvent, QueueCounts } from './queue.ts'
export type * from './types.ts'
export { VERSION } from './version.ts'
