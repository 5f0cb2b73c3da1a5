import { parts, type Wrap } from '../parts.ts'

export const sharedLinks = {
  page: {
    ended: (name: string) => `The link to ${name} no longer works.`,
    title: 'Shared links',
    about: 'Lists and companies that people without an account can read. A link also ends when its maker is removed.',
    none: 'Nothing is shared',
    choose: (share: Wrap, companies: Wrap) =>
      parts`Choose ${share('Share')} on the list of ${companies('companies')} or on the page of a company.`,
    revokeTitle: (name: string) => `Revoke the link to ${name}?`,
    revoke: 'Revoke link',
    final: 'It stops working at once, for everybody who has it. This cannot be undone.',
    name: 'Title',
    shows: 'Shows',
    madeBy: 'Made by',
    made: 'Made',
    ends: 'Ends',
    whenRevoked: 'when revoked',
    lastOpened: 'Last opened',
    never: 'never',
    revokeOf: (name: string) => `Revoke the link to ${name}`,
    noSegment: 'Its segment was removed: it does not work',
    allCompanies: 'All companies',
    segment: (name: string) => `Segment ${name}`,
    company: (name: string) => `Company ${name}`,
    companiesWith: (filter: string) => `Companies with ${filter}`,
  },
}
