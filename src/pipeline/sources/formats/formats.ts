import { alb } from './alb.ts'
import { caddy } from './caddy.ts'
import { combined, common } from './clf.ts'
import { cloudflare } from './cloudflare.ts'
import { envoy } from './envoy.ts'
import { amplitudeExport, posthogExport, rudderstackExport, segmentExport } from './exports.ts'
import { haproxy } from './haproxy.ts'
import { json } from './json.ts'
import { jsonAccess } from './json-access.ts'
import { mostObjects } from './json-lines.ts'
import type { LineFormat } from './line-format.ts'
import { s3Access } from './s3-access.ts'
import { snowplowEnriched } from './snowplow-enriched.ts'
import { traefik } from './traefik.ts'
import { cloudfront, w3c } from './w3c.ts'
import { isWrapped, unwrappedFormat, wrappedNamed } from './wrappers.ts'

/** All formats, in the order in which they are tried. */
export const LINE_FORMATS: readonly LineFormat[] = [
  ...[combined, common, traefik, caddy, haproxy, envoy, cloudfront, alb, s3Access, cloudflare, w3c],
  ...[rudderstackExport, segmentExport, posthogExport, amplitudeExport, snowplowEnriched],
  ...[json, jsonAccess],
]

/** Lines that are enough to recognise a format. */
export const SAMPLE_LINES = 20
/** Further lines are not looked at. */
export const STARTUP_LINES_MAX = 500

/**
 * The format of a file, with the wrappers around its lines; undefined when it is none of ours. A program may print other lines before
 * its first request, as nginx in a container does.
 * @param lines the first whole lines; blank ones do not count
 */
export function formatOfLines(lines: readonly string[]): LineFormat | undefined {
  const texts = lines.filter((line) => line.trim() !== '').slice(0, STARTUP_LINES_MAX)
  const found = unwrappedFormat(texts, formatOfSample)
  return found === undefined && texts.length > 1 ? unwrappedFormat(texts, formatAfterStart) : found
}

function formatOfSample(lines: readonly string[]): LineFormat | undefined {
  const sample = lines.slice(0, SAMPLE_LINES)
  return LINE_FORMATS.find((format) => format.recognises(sample))
}

function formatAfterStart(lines: readonly string[]): LineFormat | undefined {
  const start = lines.findIndex((line) => formatOfSample([line]) !== undefined)
  return start < 0 ? undefined : formatOfSample(lines.slice(start))
}

/** The format with this name, which may have wrappers before it: `cri+combined`. */
export function formatNamed(name: string): LineFormat | undefined {
  return wrappedNamed(name, (own) => LINE_FORMATS.find((format) => format.name === own))
}

/** A named format, with the wrappers that are around these lines. @param lines the first whole lines of a file */
export function formatFor(format: LineFormat, lines: readonly string[]): LineFormat {
  const texts = lines.filter((line) => line.trim() !== '').slice(0, STARTUP_LINES_MAX)
  const isRead = (line: string) => format.recognises([line]) || (format === json && isPlainObject(line))
  const found = unwrappedFormat(texts, (sample) => (sample.some(isRead) ? format : undefined))
  if (found !== undefined || format === json) return found ?? format
  return unwrappedFormat(texts, (sample) => (isWrapped(sample) ? undefined : format)) ?? format
}

/** A mapping may name any fields, so that JSON around the line of a program is told by its key. */
function isPlainObject(line: string): boolean {
  return mostObjects([line], ({ log }) => typeof log !== 'string')
}

/** The same format, with the wrappers of a name such as `cri+combined`. */
export function formatWrappedAs(name: string, format: LineFormat): LineFormat {
  return formatNamed(name.slice(0, name.lastIndexOf('+') + 1) + format.name) ?? format
}
