import { counted } from './counted.ts'

export const signIn = {
  page: {
    title: 'See which companies visit your website',
    used: 'This link has been used already, or has expired.',
    signIn: 'Sign in to see this page. It opens right after that.',
    openLink: 'With an invitation, open its link in this browser.',
    askForLink:
      'With an invitation, open its link in this browser. Without one, ask the person who invited you for a new link.',
    operator: 'I run ipid',
    runThis: 'Run this on the machine where ipid runs. It prints a link that works once, for 10 minutes.',
    command: 'Command for a sign-in link',
    onItsWay: (address: string) =>
      `If ${address} belongs to somebody here, a link is on its way. It works once, for 15 minutes. Look into the spam folder too.`,
    another: 'Use another address',
    email: 'Your e-mail address',
    mailMe: 'Mail me a link',
    signInWith: (provider: string) => `Sign in with ${provider}`,
    shows: 'What ipid shows',
    onYourSite: 'Companies on your website',
    example: 'An example: these companies do not exist.',
    facts: {
      noCookies: 'No cookies, and no names of visitors: ipid recognises the organisation behind an address.',
      leftOut: 'Your own office, bots, access providers and clouds are left out.',
      yours: 'It runs where you run it: the data stay with you.',
    },
    examples: {
      industries: 'Example Industries',
      readPricing: 'read Pricing twice, and the customers page',
      hot: 'hot',
      logistics: 'Sample Logistics',
      cameBack: 'came back after 5 weeks',
      bank: 'Placeholder Bank',
      firstSeen: 'first seen today, from a search',
      new: 'new',
      visits: (count: number) => counted(count, 'visit'),
    },
  },
}
