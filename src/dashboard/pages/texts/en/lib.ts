import { number } from '../../lib/format.ts'
import { parts, type Wrap } from '../parts.ts'
import { counted, pointsMore } from './counted.ts'

/** Sentences that lib/ builds. */
export const lib = {
  api: {
    unreachable: 'The dashboard cannot be reached. Is ipid running?',
    answered: (status: number) => `The server answered ${status}.`,
  },
  companyNames: {
    two: (first: string, second: string) => `${first} and ${second}`,
    more: (first: string, second: string, others: number) => `${first}, ${second} and ${counted(others, 'other')}`,
  },
  condition: {
    any: 'any of these',
    all: 'all of these',
    none: 'none of these',
    owner: 'Owner, - for none',
    page: 'Page contains',
    visitsMin: 'Visits, at least',
    visitsMax: 'Visits, at most',
    heatMin: 'Heat, at least',
    newDays: 'New in the last days',
    search: 'Name, domain or id contains',
    firstChannel: 'First touch by channel',
    lastChannel: 'Last touch by channel',
    firstCampaign: 'First touch of campaign',
    lastCampaign: 'Last touch of campaign',
  },
  corrections: {
    nothing: 'There was nothing to change.',
  },
  fit: {
    words: {
      good: 'Good',
      ok: 'OK',
      poor: 'Poor',
    },
    noGoodSign: 'It has none of your good signs.',
    nothingAgainst: 'Nothing speaks against it.',
    doesNotFit: (reasons: readonly string[]) => `Does not fit: ${reasons.join(', ')}`,
    fits: (reasons: readonly string[]) => `Fits: ${reasons.join(', ')}`,
  },
  heat: {
    seenToday: 'Seen today',
    onDays: (days: string) => `On ${days} of 30 days`,
    events: (events: number) => `${counted(events, 'event')} a day`,
    seen: (days: number) => `Seen ${counted(days, 'day')} ago`,
    intentPages: (days: number) => `Intent pages on ${counted(days, 'day')}`,
  },
  liveTail: {
    networks: {
      isp: 'network of an access provider',
      hosting: 'network of a hosting provider',
      cloud: 'network of a cloud',
      cdn: 'network of a content delivery network',
      vpn: 'network of a VPN, Tor exit, private relay or security gateway',
      bot: 'network of a bot',
    },
    noAddress: 'no IP address that can be read',
    yourRule: (rule: string) => `your rule: ${rule}`,
    noType: 'no type is known, and those are filtered',
    reserved: 'a private or reserved address',
    unknownNetwork: 'its network is unknown',
    companyNetwork: 'network of the company',
    infrastructure: 'network of infrastructure',
    aBot: 'a bot',
    assistant: (name: string) => `the assistant ${name}`,
    bot: (name: string) => `the bot ${name}`,
    addressOf: (bot: string) => `its address is published for ${bot}`,
    userAgentOf: (bot: string) => `its user agent names ${bot}`,
  },
  pastJobs: {
    last90: 'New visits, and those of the last 90 days',
    all: 'All visits, old and new',
    newOnly: 'New visits only',
  },
  plan: {
    lookups: (used: number, limit: number) => {
      const refused = used >= limit ? '; more are refused until the next day' : ''
      return `${number(used)} of ${number(limit)} lookups of today (UTC) are used${refused}.`
    },
    companies: (used: number, limit: number, isPassed: boolean) =>
      `This month (UTC) has ${number(used)} companies, and the plan ${number(limit)}${isPassed ? '; events are still accepted' : ''}.`,
  },
  rate: {
    left: (time: string) => `${time} left`,
  },
  seen: {
    networks: {
      isp: 'its address belongs to an access provider: people at home and on phones have no known company',
      hosting: 'its address belongs to a hosting provider, where no people work',
      cloud: 'its address belongs to a cloud, where no people work',
      cdn: 'its address belongs to a content delivery network',
      vpn: 'its address belongs to a VPN, private relay or security gateway',
    },
    byRule: (rule: string) => `a rule of yours says so: ${rule}`,
    ownMachine: (ip: string) => `${ip} is your own machine, and not on the internet`,
    privateNetwork: 'that address is inside a private network, and not on the internet',
    proxy: 'The script works. If visitors come through a proxy, it must pass on their addresses (X-Forwarded-For).',
    works: 'The script works. Visits from the networks of companies are kept, and appear under Companies.',
    visit: (page: string | undefined, ip: string | null) =>
      `The visit${page === undefined ? '' : ` of ${page}`}${ip === null ? '' : ` from ${ip}`} was received`,
    noAddress: (visit: string) => `${visit}, but without an address that can be read, so no company can be found.`,
    leftOut: (visit: string, reason: string) => `${visit} and left out, because ${reason}.`,
    recognised: (visit: string, company: string) => `${visit} and kept: ipid recognised ${company}.`,
    kept: (visit: string) => `${visit} and kept. Its network belongs to no company that ipid knows.`,
  },
  transfers: {
    interrupted: 'The transfer was interrupted, and nothing of the file is kept. Is ipid running?',
    tooLarge: (problem: string) => `${problem}. Split it into smaller files.`,
  },
  usualWeek: {
    none: 'no visit in 5 weeks',
    afterNone: (visits: number) => `${counted(visits, 'visit')}, after 4 weeks without`,
    usually: (visits: string) => `usually ${visits} a week`,
  },
  visitorSessions: {
    underAMinute: 'under a minute',
  },
  why: {
    belonged: (ip: string, name: string) =>
      `Its most frequent address, ${ip}, belonged to ${name} when its events arrived, but today’s data no longer says so.`,
    belongs: (ip: string, name: string) => `Its most frequent address, ${ip}, belongs to ${name} by today’s data.`,
    belongsBy: (ip: string, owner: string, dataSet: string) =>
      `Its most frequent address, ${ip}, belongs to ${owner}, says the data set “${dataSet}”.`,
    isIn: (ip: string, network: string, dataSet: string, owner: string) =>
      `Its most frequent address, ${ip}, is in ${network}, which the data set “${dataSet}” gives to ${owner}.`,
  },
  wordNote: {
    note: (word: string, share: string) => `word "${word}", right in ${share}`,
  },
  named: {
    named: (named: number, events: number, share: string, points: number | undefined, isUtc: boolean) => {
      const of = `${number(named)} of ${counted(events, 'page view or other event', 'page views and other events')}`
      const change =
        points === undefined
          ? ''
          : points === 0
            ? ', no change from the previous 7 days'
            : `, ${pointsMore(points)} on the previous 7 days`
      return `${of} of the last 7 ${isUtc ? 'days' : 'UTC days'} could be named: ${share}${change}.`
    },
    theOthers: (others: readonly string[]) => `The others: ${others.join(', ')}.`,
    others: {
      access: (count: string) => `${count} from access providers (home offices, mobiles)`,
      hosting: (count: string) => `${count} from servers of hosting providers, clouds and CDNs`,
      vpn: (count: string) => `${count} from VPNs and gateways`,
      bot: (count: string) => `${count} from bots`,
      reserved: (count: string) => `${count} from private addresses`,
      rules: (count: string) => `${count} left out by your rules`,
      unknown: (count: string) => `${count} from networks whose company is not known`,
    },
  },
  week: {
    noVisit: 'No company visited in the last 7 days, nor in the 7 before.',
    same: 'as many visits as in the 7 days before',
    afterNone: 'after none in the 7 days before',
    more: (share: string) => `${share} more visits than in the 7 days before`,
    fewer: (share: string) => `${share} fewer visits than in the 7 days before`,
    noVisitNow: (before: number) =>
      `No company visited in the last 7 days, after ${counted(before, 'visit')} in the 7 days before.`,
    week: (
      now: { readonly visits: number; readonly companies: number; readonly new_companies: number },
      change: string,
      visits: Wrap,
      companies: Wrap,
      newCompanies: Wrap,
    ) => {
      const news = now.new_companies > 0 && parts` (${newCompanies(`${number(now.new_companies)} new`)})`
      const from = parts`${visits(counted(now.visits, 'visit'))} from ${companies(counted(now.companies, 'company', 'companies'))}`
      return parts`${from}${news} in the last 7 days, ${change}. Today is not over yet.`
    },
  },
  dayClock: {
    clocks: {
      received: 'Day received',
      event: 'Day of the event',
    },
    inUtc: (day: string) => `${day} (UTC)`,
  },
}
