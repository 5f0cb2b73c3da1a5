import { type Part, parts, type Wrap } from '../parts.ts'
import { counted } from './counted.ts'

const address = 'Address of the API, as its senders reach it'
const changeOf = (name: string) => `Change ${name}`
const setupOf = (name: string) => `Setup of ${name}`

export const sources = {
  list: {
    title: 'Sources',
    about: 'Where events come from, and whether each source is healthy.',
    add: 'Add a source',
    none: 'There is no source yet',
    aboutSource:
      'A source is a key for one website, tool or log that already sees your visitors. Paste its text there, and its events arrive here, each stored exactly once.',
    newest: (shown: string, total: string, command: Part) =>
      parts`The newest ${shown} of ${total} sources. ${command} shows all.`,
    channels: 'Companies by channel and campaign',
    aboutChannels: 'What brought the companies that visited in the last 30 days.',
    healthUnknown: (problem: string) => `The health of sources is not known now: ${problem} Events are still accepted.`,
  },
  change: {
    addresses: {
      auto: 'of the event, or else of the browser that sends it',
      payload: 'of the event only',
      connection: 'of the connection only',
    },
    title: changeOf,
    name: 'Name, for people',
    inForce: 'A change is in force at once, for new events.',
    visitors: 'Addresses of visitors',
    visitorsWithKey: 'Addresses of visitors, with the server key',
  },
  create: {
    groups: {
      website: 'Website',
      aboutWebsite: 'One line of HTML. It sets no cookies, and counts page views by itself.',
      libraries: 'Libraries of tools',
      aboutLibraries: 'Your code stays as it is: only the host and the key change.',
      shippers: 'Log shippers',
      aboutShippers:
        'Vector, Fluent Bit, a CDN or your own program posts JSON to an address; ./ipid sync sends log files.',
      pulls: 'Files and exports',
      aboutPulls: 'ipid fetches them by itself. The command line makes these, because it asks for their secrets.',
    },
    title: 'New source',
    from: 'Where the events come from',
    name: 'Name, for people (optional)',
    address,
    format: 'Format of the sender',
    ownJson: 'My own JSON',
    otherNames: 'Fields with other names (optional)',
    command: 'Command that makes the source',
    create: 'Create source',
    ownFields: (fields: Part) =>
      parts`An event without the field ip has no visitor, and is not stored. Unless you map them, fields have the names ${fields}. All other keys are kept as properties. Of a log, map status and method, or the line in request: then only page views are stored.`,
    knownFields: (fields: Part) =>
      parts`The fields of this sender are known. You can map others: ${fields}. All other keys are kept as properties. Of a log, map status and method, or the line in request: then only page views are stored.`,
  },
  findings: {
    code: 'Code that mends it',
  },
  new: {
    title: 'Your new source',
    copyNow:
      'Copy the server key now: it is secret, and shown only this once. Its keys can send events to this source, and nothing else.',
    paste:
      'Paste this into your pages. Its key can send events to this source, and nothing else. You can see all of this again here.',
    serverKey: 'Server key',
    copied: 'I have copied it',
    waiting: 'Waiting for the first event…',
    keyUsed: (at: Part) => parts`Its key was used ${at}. Waiting for the first event…`,
    received: 'received',
    first: (result: string, link: Wrap) => parts`First event ${result}. ${link('Watch events arrive')}`,
  },
  revoke: {
    title: 'Revoke this source?',
    revoke: 'Revoke source',
    neverUsed: 'Its key was never used, so nothing should stop.',
    lastUsed: (at: Part) =>
      parts`Its key was last used ${at}. Requests with it are refused (401) within a minute. Its events stay.`,
    final: 'A revoked key never works again.',
  },
  setup: {
    moreWays: 'More ways',
    sample: 'sample, to be changed',
    browserKey: 'Browser key',
    title: setupOf,
    address,
    useAddress: 'Use this address',
  },
  table: {
    sources: 'Sources',
    revokedSources: 'Revoked sources',
    source: 'Source',
    state: 'State',
    today: 'Today',
    filtered: 'Filtered',
    noAddress: 'No address',
    rejected: 'Rejected',
    repeats: 'Repeats',
    setupOf,
    change: changeOf,
    revoke: (name: string) => `Revoke ${name}`,
    states: {
      good: 'receiving',
      attention: 'needs attention',
      waiting: 'waiting',
      unknown: 'unknown',
    },
    noEvent: 'no event yet',
    filteredToday: (reasons: readonly string[]) => `Filtered today: ${reasons.join(', ')}`,
    whyRejected: 'Why events were rejected since yesterday',
    revokedCount: (count: number) => counted(count, 'revoked source'),
    addressesOf: (where: string) => ` · addresses of the ${where}`,
    revoked: 'revoked',
    revokedAt: (at: Part) => parts`revoked ${at}`,
  },
}
