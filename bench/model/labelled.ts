import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { type Classification, NOISE } from '../../schemas/classification.ts'
import type { ModelClass } from './train.ts'

/** Files of `test/support/` with labels of autonomous systems. */
const FILES = ['labelled-networks.csv', 'labelled-silent-names.csv', 'labelled-visitors.csv']

/** The label of an AS. */
export interface Label {
  readonly classification: Classification
  readonly sure: boolean
}

/** The labels by AS number, without those held out by any file, on which the rules are measured. */
export function tuningLabels(): ReadonlyMap<number, Label> {
  const labels = new Map<number, Label>()
  const heldOut = new Set<number>()
  for (const file of FILES) {
    const text = readFileSync(new URL(`../../test/support/${file}`, import.meta.url), 'utf8')
    for (const { asn, classification, sure, held_out } of parse(text, { columns: true }) as Record<string, string>[]) {
      if (held_out === 'yes') heldOut.add(Number(asn))
      else if (asn && classification !== 'unknown') {
        labels.set(Number(asn), { classification: classification as Classification, sure: sure !== 'no' })
      }
    }
  }
  for (const asn of heldOut) labels.delete(asn)
  return labels
}

/** Whether a class is noise, and of which kind, for the model. */
export function modelClassOf(classification: Classification): ModelClass {
  if (!NOISE.has(classification)) return 'organisation'
  return classification === 'isp' ? 'isp' : 'hosting'
}
