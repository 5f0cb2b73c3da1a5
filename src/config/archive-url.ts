import { fileURLToPath } from 'node:url'
import type { ArchiveLocation } from '../pipeline/declaration/destination.ts'
import { InputError } from '../run/errors.ts'
import { shown } from './values.ts'

const BUCKET_URL = 's3://bucket/prefix?endpoint=http://host:port&region=name'
const WANTED = `must be ${BUCKET_URL}, or file:///folder`
/** Bucket names that every S3-compatible store accepts. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const PREFIX = /^[\w!.*'()=+:@-]+(?:\/[\w!.*'()=+:@-]+)*$/
const REGION = /^[\w-]{1,64}$/
const PARAMETERS = ['endpoint', 'region']

/** Whether a text is meant as a URL, and not as a path. */
export function isUrl(text: string): boolean {
  return /^(?:\w+:\/\/|file:)/.test(text)
}

/** Reads the location of the archive. @throws InputError that says what is wrong */
export function readArchiveUrl(text: string): ArchiveLocation {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'file:' && url.host === '' && url.search === '' && url.pathname !== '/') {
    return { folder: fileURLToPath(url) }
  }
  const { path, ...bucket } = readS3Url(text, WANTED)
  const prefix = path.replace(/^\/+|(?<!\/)\/+$/g, '')
  if (prefix !== '' && !PREFIX.test(prefix)) throw new InputError(`"${prefix}" is not a prefix: ${WANTED}`)
  return { ...bucket, prefix }
}

interface S3Place {
  readonly bucket: string
  /** With its slashes, and as it is written. */
  readonly path: string
  /** `http(s)://host:port`; undefined: Amazon's. */
  readonly endpoint: string | undefined
  readonly region: string | undefined
}

/** Reads the address of a bucket. @throws InputError that says what is wrong @param wanted for the error */
export function readS3Url(text: string, wanted = `must be ${BUCKET_URL}`): S3Place {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 's3:') throw new InputError(wanted)
  if (url.username !== '' || url.password !== '') {
    throw new InputError(
      'must have no credentials: they come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_PROFILE',
    )
  }
  const stranger = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name))
  if (stranger !== undefined) throw new InputError(`has the unknown parameter ${JSON.stringify(stranger)}: ${wanted}`)
  if (!BUCKET.test(url.host)) throw new InputError(`"${url.host}" is not a bucket name: ${wanted}`)
  const region = url.searchParams.get('region') ?? undefined
  if (region !== undefined && !REGION.test(region)) throw new InputError(`"${region}" is not a region: ${wanted}`)
  const endpoint = readEndpoint(url.searchParams.get('endpoint'), wanted)
  return { bucket: url.host, path: url.pathname, endpoint, region }
}

function readEndpoint(text: string | null, wanted: string): string | undefined {
  if (text === null) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === ''
  if (!isOrigin || url.username !== '') throw new InputError(`${shown(text)} is not an endpoint: ${wanted}`)
  return url.origin
}
