import { alb } from './alb.ts'
import { caddy } from './caddy.ts'
import { combined, common } from './clf.ts'
import { cloudflare } from './cloudflare.ts'
import { amplitudeExport, posthogExport, rudderstackExport, segmentExport } from './exports.ts'
import { json } from './json.ts'
import type { LineFormat } from './line-format.ts'
import { snowplowEnriched } from './snowplow-enriched.ts'
import { traefik } from './traefik.ts'
import { cloudfront, w3c } from './w3c.ts'

/** All formats, in the order in which they are tried. */
export const LINE_FORMATS: readonly LineFormat[] = [
  ...[combined, common, traefik, caddy, cloudfront, alb, cloudflare, w3c],
  ...[rudderstackExport, segmentExport, posthogExport, amplitudeExport, snowplowEnriched],
  json,
]

/** Lines that are enough to recognise a format. */
export const SAMPLE_LINES = 20

/** The format of a file; undefined when it is none of ours. @param lines the first whole lines; blank ones do not count */
export function formatOfLines(lines: readonly string[]): LineFormat | undefined {
  const sample = lines.filter((line) => line.trim() !== '').slice(0, SAMPLE_LINES)
  return LINE_FORMATS.find((format) => format.recognises(sample))
}

/** The format with this name. */
export function formatNamed(name: string): LineFormat | undefined {
  return LINE_FORMATS.find((format) => format.name === name)
}
