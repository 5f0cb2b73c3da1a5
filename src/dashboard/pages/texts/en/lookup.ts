import { number } from '../../lib/format.ts'
import { type Part, parts } from '../parts.ts'
import { counted } from './counted.ts'

export const lookup = {
  page: {
    title: 'Lookup',
    about: 'The company of an address, the result for its events, and the evidence.',
    addresses: 'IPv4 or IPv6 addresses, one per line or separated by any text',
    looking: 'Looking up…',
    look: 'Look up',
    upTo: (max: number, workspace: string, used: string) =>
      `Up to ${number(max)} addresses at once. Each counts as a lookup of ${workspace}, as in the API: ${used}.`,
    used: (used: number, limit: number) => `${number(used)} of ${number(limit)} are used today`,
  },
  results: {
    judged: (workspace: string) => `As the rules of ${workspace} judge them.`,
    label: 'Results',
    address: 'Address',
    organisation: 'Organisation',
    notKnown: 'not known',
    kept: 'kept',
    filtered: 'filtered',
    byRule: 'by a rule',
    explanation: 'Explanation',
    hide: 'Hide',
    why: 'Why?',
    rule: 'Rule of the workspace',
    noRule: 'none decides',
    typeRule: 'Rule of the type',
    countsFor: 'Counts for the account',
    doubtful: 'none: the name is doubtful',
    none: 'none',
    ofHundred: (quality: number) => `${quality} of 100`,
    asked: 'Asked',
    noneReserved: 'none: it is a reserved address',
    answered: 'Answered',
    tooSlow: 'Too slow to answer',
    valuesOf: (address: string) => `Values of ${address}`,
    attribute: 'Attribute',
    value: 'Value',
    provider: 'Provider',
    networkOrRule: 'Network or rule',
    summary: (addresses: number, kept: number) =>
      `${counted(addresses, 'address', 'addresses')}: events of ${number(kept)} would be kept, ${number(addresses - kept)} filtered`,
    notAddresses: (count: number, words: Part) =>
      parts`${counted(count, 'word is not an address', 'words are not addresses')}: ${words}`,
    hideOf: (address: string) => `Hide ${address}`,
    whyOf: (address: string) => `Why? ${address}`,
    showOthers: (count: number) => `Show the other ${number(count)}`,
  },
}
