import { type Part, parts, type Wrap } from '../parts.ts'

export const firstSteps = {
  connect: {
    anySite: 'Any site',
    address: 'Address at which your visitors’ browsers reach ipid',
    aboutAddress:
      'It begins with https://. The person who runs ipid knows it. It is often not the address of this page.',
    showLine: 'Show my line of code',
    noWebsite: (source: Wrap, upload: Wrap, key: Wrap) =>
      parts`No website? ${source('Connect another source')}, ${upload('upload a file')}, or ${key('make a key for the API')}.`,
    howMade: 'How your website is made',
    send: 'Send to my developer',
    change: 'Change the address',
    more: 'More ways',
    mail: {
      hello: 'Hello,',
      policy: 'If the site has a Content-Security-Policy, it also needs:',
      subject: 'A line of code for our website',
      please: (title: string) =>
        `please add this to our website, so that ipid sees which companies visit it. ${title}:`,
      thanks: (address: string) => `It loads one script from ${address}, and sets no cookies. Thank you!`,
    },
  },
  office: {
    leftOutNow: (network: string) => `Visits from ${network} are left out from now on.`,
    youAreAt: (address: Part) =>
      parts`You are at ${address} now. Are you in your office? Then visits from there are your own.`,
    leaveOut: (address: string) => `Leave out ${address}`,
    noAddress:
      'This page does not see you at a public address, so it cannot offer the one of your office. Your IT knows it, or any page that answers “what is my IP address”.',
    network: 'Address or network of your office',
    anotherNetwork: 'Another address or network of yours',
    leaveItOut: 'Leave it out',
    leftOut: (rules: readonly string[], link: Wrap) =>
      parts`Left out: ${rules.join(', ')}. ${link('Change it in Settings')}`,
  },
  verify: {
    watch: 'Watch visits arrive',
    arrive: 'Page views of your website arrive.',
    connectFirst: 'Connect the website first. Its first visit then appears here.',
    waiting: 'Waiting for the first page view…',
    openPage:
      'When the line is in your website, open a page of it in another tab. Within seconds this says what ipid saw of your visit.',
    firstWas: (result: string) => `the first page view was ${result}`,
  },
  steps: {
    closed: 'The first steps are closed.',
    show: 'Show the first steps',
    connect: 'Connect your website',
    see: 'See the first visit',
    office: 'Leave out your own office',
    andOthers: (network: string) => `${network} and others`,
    alert: 'Make the first alert',
    aboutAlert: 'A mail, or a message in Slack, when a company visits for the first time or comes back.',
    createAlert: 'Create alert',
    invite: 'Invite your colleagues',
    aboutInvite: 'You decide whether each of them reads only, changes things too, or manages people and keys.',
    inviteOne: 'Invite a person',
    title: 'First steps',
    doneOf: (done: number, all: number) => `${done} of ${all} done`,
    close: 'Close the list',
  },
}
