import { accuracy } from './accuracy.ts'
import { alerts } from './alerts.ts'
import { channels } from './channels.ts'
import { companies } from './companies.ts'
import { company } from './company.ts'
import { components } from './components.ts'
import { crm } from './crm.ts'
import { deadLetters } from './dead-letters.ts'
import { design } from './design.ts'
import { exports } from './exports.ts'
import { firstSteps } from './first-steps.ts'
import { heatAndFit } from './heat-and-fit.ts'
import { home } from './home.ts'
import { importList } from './import-list.ts'
import { lib } from './lib.ts'
import { live } from './live.ts'
import { lookup } from './lookup.ts'
import { notFound } from './not-found.ts'
import { people } from './people.ts'
import { readPages } from './read-pages.ts'
import { received } from './received.ts'
import { segmentLink } from './segment-link.ts'
import { settings } from './settings.ts'
import { sharedLinks } from './shared-links.ts'
import { shell } from './shell.ts'
import { signIn } from './sign-in.ts'
import { sources } from './sources.ts'
import { start } from './start.ts'
import { system } from './system.ts'
import { tenants } from './tenants.ts'
import { unknownNetworks } from './unknown-networks.ts'
import { uploads } from './uploads.ts'
import { words } from './words.ts'

/** All texts of the pages in English. The type of this object is the type of every language. */
export const en = {
  accuracy,
  alerts,
  channels,
  companies,
  company,
  components,
  crm,
  deadLetters,
  design,
  exports,
  firstSteps,
  heatAndFit,
  home,
  importList,
  lib,
  live,
  lookup,
  notFound,
  people,
  readPages,
  received,
  segmentLink,
  settings,
  sharedLinks,
  shell,
  signIn,
  sources,
  start,
  system,
  tenants,
  unknownNetworks,
  uploads,
  words,
}
