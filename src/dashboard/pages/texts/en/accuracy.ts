import { number } from '../../lib/format.ts'
import { type Part, parts, type Wrap } from '../parts.ts'
import { counted, isOrAre, pointsMore } from './counted.ts'

const noneAttributed = 'no address was attributed'

export const accuracy = {
  page: {
    title: 'Accuracy',
    about:
      'How often is the company right? The work e-mail domain of people who sign up is compared with the company that was found by the network address.',
    span: 'Span',
    tryOther: 'Try other data',
    aboutOther:
      'On the machine where ipid runs, this compares your data with another folder on the stored addresses: companies that only one knows, where they differ, and which is right. It changes nothing.',
    compareCommand: 'Command that compares data',
    where: 'Where it is right',
    aboutWhere:
      'All figures count network addresses, each once. An address with people of several companies counts in parts. Right: of those attributed to a company, the share attributed to the one of the e-mail address, with its 95% interval. Noise is not stored, so it is not counted.',
    byDataSet: 'By data set',
    dataSet: 'Data set',
    byType: 'By type',
    type: 'Type',
    byScore: 'By quality score',
    score: 'Score',
    scores: (from: number, to: number) => `${from} to ${to}`,
    none: 'No event has a known company yet',
    sendEmail: (email: Part, properties: Part, session: Part) =>
      parts`Send the e-mail address of people who sign up or sign in from your server, as ${email} in ${properties}. Only its domain is kept for this; free and disposable mail does not count. The other events of the same ${session} then count too.`,
    example: 'Part of an event, a sample',
    demo: (command: Part) => parts`${command} adds made-up events with work e-mail addresses.`,
    rightOfAttributed: 'Right when attributed',
    unknown: 'unknown',
    noneAttributed,
    attributed: 'Attributed',
    right: 'Right',
    of: (count: string) => `of ${count}`,
    others: (other: string, none: string) => `addresses; ${other} of another company, ${none} of none`,
    shareRight: 'Share right',
    addresses: 'Addresses',
    otherCompany: 'Other company',
    noCompany: 'No company',
    leftOut: (events: number) =>
      `${counted(events, 'event')} with a work e-mail address ${isOrAre(events)} left out here and in the proposals: they came with a browser key, which everybody can read in your pages and use. Send sign-ups from a server, with a server key or an API key.`,
    precision: (addresses: number, low: string, high: string) =>
      `of ${counted(addresses, 'address', 'addresses')}; 95% interval: ${low} to ${high}`,
    attributedOf: (addresses: number, events: number) =>
      `of ${counted(addresses, 'address', 'addresses')} with a known company, which sent ${counted(events, 'event')}`,
  },
  corrections: {
    title: 'What people corrected',
    none: 'Nothing is corrected. Companies and their menu Edit company have the corrections.',
    label: 'Corrections by data set',
    dataSet: 'Data set',
    names: 'Companies it names',
    noCompany: 'no company',
    correction: 'Correction',
    ofCompany: 'of the company',
    first: (shown: string, all: string) => `The first ${shown} of ${all}.`,
    about: (code: Wrap) =>
      parts`Rules ${code('is')}, ${code('always-noise')} and ${code('never-noise')}, and companies that were hidden, merged or renamed, by the data set that had given the corrected answer. Counted here only: nothing is sent to anybody.`,
    kinds: {
      wrong: 'Another company',
      missing: 'No company',
      domain: 'Another domain',
      shown: 'Not a company',
      hidden: 'Hidden',
      merged: 'Merged',
      renamed: 'Renamed',
      known: 'Right by now',
    },
    countOf: (count: number, dataSet: string, kind: string) => `${counted(count, 'correction')} of ${dataSet}: ${kind}`,
    namesAll: (read: number, _companies: number, days: string) =>
      `Companies it names: of ${counted(read, 'company', 'companies')} with an event in the last ${days} days.`,
    namesSome: (read: number, companies: number, days: string) =>
      `Companies it names: of ${number(read)} of the ${counted(companies, 'company', 'companies')} with an event in the last ${days} days.`,
    notCounted: (count: number) => ` ${counted(count, 'older correction')} of companies are not counted.`,
    titleOf: (kind: string, dataSet: string) => `${kind}, ${dataSet}`,
  },
  interval: {
    none: noneAttributed,
    range: (from: number, to: number) => `${from} to ${to}`,
  },
  named: {
    title: 'Could be named',
    /** @param day of receipt */
    about: (day: string) =>
      `Events, such as page views, by ${day}. Visitors at home or on a phone have the address of their access provider, which names no company; the data do not tell the two apart.`,
    receipt: 'the day they were received',
    none: (days: string) => `No event was received in the last ${days} days.`,
    named: 'Named',
    byWeek: 'By week',
    chart: 'Events by week, by whether they could be named',
    firstDay: 'First day of the week',
    share: (share: string, points: number | undefined) =>
      points === undefined ? share : `${share} · ${points === 0 ? 'no change' : pointsMore(points)}`,
    of: (events: number, days: string) =>
      `Of ${counted(events, 'event')} in ${days} days, and the change from the ${days} before`,
    others: {
      access: 'Home offices and mobiles (access providers)',
      hosting: 'Hosting providers, clouds and CDNs',
      vpn: 'VPNs, Tor, relays and gateways',
      bot: 'Bots',
      reserved: 'Private addresses',
      rules: 'Left out by your rules',
      unknown: 'Company not known',
    },
  },
  proposals: {
    title: 'Networks that keep meeting one company',
    about:
      'At least 3 people with mail of one domain were met there, on 3 days, and hardly anybody else. A network of more than one address needs them in each of its halves. Accept one, and its visits belong to that company from then on.',
    none: (rule: Part) =>
      parts`No proposal now. Visits from access providers are not stored; the rule ${rule} stores them, so that their business customers are found.`,
    accepted: (network: string) => `${network} is accepted.`,
    undone: (network: string) => `${network} is undone.`,
    proposals: 'Proposals',
    network: 'Network',
    now: 'Now',
    noCompany: 'no company',
    people: 'People',
    days: 'Days',
    signUps: 'Sign-ups',
    acceptOf: (network: string) => `Accept ${network}`,
    accept: 'Accept',
    acceptedLabel: 'Accepted',
    undoOf: (network: string) => `Undo ${network}`,
    undo: 'Undo',
    stored: (command: Part) => parts`Stored visits stay as they were until they are judged again: ${command}.`,
    peopleShare: (people: number, share: string) => `${counted(people, 'person', 'people')} (${share})`,
    daysCount: (count: number) => counted(count, 'day'),
  },
}
