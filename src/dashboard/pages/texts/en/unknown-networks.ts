import { counted } from './counted.ts'

export const unknownNetworks = {
  page: {
    reasons: {
      doubtful: 'Doubtful name',
      unnamed: 'Private, or no name',
      kept: 'Kept by a rule',
      unknown: 'No data',
    },
    title: 'Visits without a company',
    about:
      'Some names may be those of access providers or hosting providers. Their visits are stored without a company, until you say that it is one.',
    days: 'Days',
    why: 'Why there is no company',
    allReasons: 'All reasons',
    none: 'No such visit on these days',
    allKnown: 'All stored visits have a company.',
    moreDays: 'Choose more days, or another reason.',
    networks: 'Networks',
    network: 'Network',
    whyColumn: 'Why',
    notKnown: 'not known',
    leftOut: 'name left out',
    haveCompany: 'New visits have a company',
    makeOf: (asn: number, name: string) => `Make it a company…: AS${asn} ${name}`,
    make: 'Make it a company…',
    summary: (visits: number, networks: number) => `${counted(visits, 'visit')} from ${counted(networks, 'network')}`,
    loading: ' · loading…',
    more: (networks: number) => `${counted(networks, 'more network')} with fewer visits.`,
  },
  make: {
    made: (asn: number, name: string) => `AS${asn} is ${name} from now on. Settings lists the rule.`,
    title: (asn: number) => `Make AS${asn} a company`,
    name: 'Name',
    domain: 'Domain',
    aboutDomain: 'Optional. With it, industry and other facts are those that your data have of this domain.',
    make: 'Make it a company',
    stay: (asn: number) =>
      `All visits from AS${asn} count for this company from now on. Stored ones stay as they are. The settings can apply the rule to them later. The rule is in the settings; remove it there to undo this.`,
    follow: (asn: number) =>
      `All visits from AS${asn} count for this company from now on. Stored ones follow in the background; this page shows the progress. The rule is in the settings; remove it there to undo this.`,
  },
}
