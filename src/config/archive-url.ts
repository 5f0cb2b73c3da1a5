import { fileURLToPath } from 'node:url'
import type { ArchiveLocation } from '../pipeline/declaration/destination.ts'
import { InputError } from '../run/errors.ts'

const WANTED = 'must be s3://bucket/prefix?endpoint=http://host:port&region=name, or file:///folder'
/** Bucket names that every S3-compatible store accepts. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const PREFIX = /^[\w!.*'()=+:@-]+(?:\/[\w!.*'()=+:@-]+)*$/
const REGION = /^[\w-]{1,64}$/
const PARAMETERS = ['endpoint', 'region']

/** Reads the location of the archive. @throws InputError that says what is wrong */
export function readArchiveUrl(text: string): ArchiveLocation {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'file:' && url.host === '' && url.search === '' && url.pathname !== '/') {
    return { folder: fileURLToPath(url) }
  }
  if (url?.protocol !== 's3:') throw new InputError(WANTED)
  if (url.username !== '' || url.password !== '') {
    throw new InputError(
      'must have no credentials: they come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_PROFILE',
    )
  }
  const stranger = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name))
  if (stranger !== undefined) throw new InputError(`has the unknown parameter ${JSON.stringify(stranger)}: ${WANTED}`)
  const prefix = url.pathname.replace(/^\/+|(?<!\/)\/+$/g, '')
  if (!BUCKET.test(url.host)) throw new InputError(`"${url.host}" is not a bucket name: ${WANTED}`)
  if (prefix !== '' && !PREFIX.test(prefix)) throw new InputError(`"${prefix}" is not a prefix: ${WANTED}`)
  const region = url.searchParams.get('region') ?? undefined
  if (region !== undefined && !REGION.test(region)) throw new InputError(`"${region}" is not a region: ${WANTED}`)
  return { bucket: url.host, prefix, endpoint: readEndpoint(url.searchParams.get('endpoint')), region }
}

function readEndpoint(text: string | null): string | undefined {
  if (text === null) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === ''
  if (!isOrigin || url.username !== '') throw new InputError(`"${text}" is not an endpoint: ${WANTED}`)
  return url.origin
}
