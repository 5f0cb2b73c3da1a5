import { number } from '../../lib/format.ts'
import { counted, wasOrWere } from './counted.ts'

/** GPTBot → "GPTBot, " */
const named = (name: string | undefined) => (name === undefined ? '' : `${name}, `)

/** How a bot was recognised. */
const proof = (isVerified: boolean) => (isVerified ? 'by its address' : 'by its user agent alone')

export const received = {
  page: {
    title: 'Received events',
    about: 'Received events, their results, and the reasons.',
    home: 'Home',
    countBy: 'Count events by',
    days: 'Days',
    none: 'No event was received on these days',
    moreDays: 'Choose more days, or send events: Home says how.',
    known: 'company known',
    unknown: 'company not known',
    kept: 'Events kept',
    happened: 'that happened on these days',
    received: 'Events received',
    receivedKept: (kept: string) => `on these days; ${kept} kept`,
    seen: 'Companies seen',
    ofDays: 'with an event of these days',
    new: 'New companies',
    newOnDays: 'whose first event is of these days',
    filtered: 'Filtered',
    filteredOfReceived: 'of the events received on these days',
    byEventDay: 'Events kept, by day of the event',
    byReceivedDay: 'Events by status, by day received',
    chartKept: 'Events kept by day of the event',
    chartStatus: 'Events by status and day received',
    onlyReceived: 'Events that were not kept have only the day they were received.',
    companies: 'Companies, by day of the event',
    chartCompanies: 'Companies by day of the event',
    seenBefore: 'seen before',
    isNew: 'new',
    top: 'Top companies, by events of these days',
    all: 'All companies',
    noCompany: 'No company has an event of these days.',
    notKept: 'Received on these days and not kept',
    otherDays: (kept: number, happened: number) =>
      `${counted(kept, 'kept event')} ${wasOrWere(kept)} received on these days, and ${number(happened)} happened on them: files and late events bring events of other days.`,
  },
  kinds: {
    dead: 'dead or dropped',
    kept: 'kept',
    repeats: 'repeats',
    invalid: 'invalid',
    filtered: {
      isp: 'filtered: access providers',
      hosting: 'filtered: hosting providers',
      cloud: 'filtered: clouds',
      cdn: 'filtered: CDNs',
      reserved: 'filtered: private addresses',
      rules: 'filtered by your rules',
      vpn: 'filtered: VPNs',
      bot: 'filtered: bots',
      no_page: 'filtered: no page views',
    },
  },
  reasons: {
    duplicates: 'Repeats of an event_id within 7 days',
    invalid: 'Invalid: no IP address',
    noAddress: 'Invalid: without an address',
    rejected: 'Invalid: lines of uploads that are not events',
    dead: 'Dead letters: could not be processed',
    dropped: (status: string) => `Dropped: ${status}`,
    none: 'None: every event received was kept.',
    bots: {
      bot: (name: string | undefined, isVerified: boolean) => `Filtered: ${named(name)}a bot, ${proof(isVerified)}`,
      assistant: (name: string | undefined, isVerified: boolean) =>
        `Filtered: ${named(name)}an AI assistant for a person, ${proof(isVerified)}`,
    },
    filteredFor: (reason: string) => `Filtered: ${reason}`,
    filtered: {
      reserved: 'Filtered: private or reserved addresses',
      isp: 'Filtered: visitors of an access provider, not of a company',
      hosting: 'Filtered: servers of a hosting provider',
      cloud: 'Filtered: servers of a cloud',
      cdn: 'Filtered: a content delivery network',
      vpn: 'Filtered: VPNs, Tor, private relays and security gateways',
      bot: 'Filtered: bots',
      own: 'Filtered by your rule: your own traffic',
      always_noise: 'Filtered by your rule: always noise',
      unclassified: 'Filtered by your rule: unknown class',
      no_page: 'Filtered: requests that are no page views',
      other: 'Filtered: other reasons',
    },
  },
}
