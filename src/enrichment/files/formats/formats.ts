import { basename } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { readStart } from '../../providers/text/read-start.ts'
import { dbip } from './dbip.ts'
import type { DataFormat } from './format.ts'
import { ip2location } from './ip2location.ts'
import { ipinfoCsv } from './ipinfo-csv.ts'
import { iptoasn } from './iptoasn.ts'
import { mmdb } from './mmdb.ts'
import { noiseList } from './noise-list.ts'
import { organisations } from './organisations.ts'
import { ranges } from './ranges.ts'
import { registry } from './registry.ts'
import { vendorCsv } from './vendor-csv.ts'

/** All formats of data files. The first that recognises a file reads it, so the formats that take every file of an ending are last. */
const FORMATS: readonly DataFormat[] = [
  registry,
  ranges,
  mmdb,
  ipinfoCsv,
  vendorCsv,
  dbip,
  ip2location,
  iptoasn,
  noiseList,
  organisations,
]

/** Formats that a file can have by its name. */
export function formatsNamed(path: string): readonly DataFormat[] {
  const file = basename(path)
  return FORMATS.filter(({ ending }) => ending.test(file))
}

/** The format of that name. @throws Error when there is none */
export function formatOfName(name: string): DataFormat {
  const format = FORMATS.find((each) => each.name === name)
  if (format === undefined) throw new Error(`there is no format ${name}`)
  return format
}

/** The format of a file. @throws InputError when no format recognises it */
export async function formatOf(path: string): Promise<DataFormat> {
  let line: Promise<string | undefined> | undefined
  for (const format of formatsNamed(path)) {
    if (format.recognises === undefined) return format
    line ??= readStart(path)
    if (format.recognises(await line, basename(path))) return format
  }
  throw new InputError('not recognised: no format of this ending starts with this line')
}

/** Paths of the files that change the meaning of a file. They need not exist. */
export function companionsOf(path: string): readonly string[] {
  return formatsNamed(path).flatMap((format) => format.companionsOf?.(path) ?? [])
}
