import { NoAnswerError, OidcProvider, oidcOptionsOf } from '../../dashboard/oidc/provider.ts'
import { causeText } from '../../run/cause-text.ts'
import { ANSWER_MS, type Finding, findingsOf, type Subject } from './finding.ts'

/** Whether the provider of OpenID Connect answers, and what it has to know. */
export async function checkSignIn({ config, roles }: Subject): Promise<Finding[]> {
  const { problem, risk, fine } = findingsOf('sign-in')
  const options = oidcOptionsOf(config)
  if (options === undefined || !roles.includes('dashboard')) return []
  const { issuer, redirectUri } = options
  const found: Finding[] = []
  try {
    await new OidcProvider({ ...options, answerMs: ANSWER_MS }).check()
    found.push(fine(`${issuer} answers; it must know the redirect URI ${redirectUri}`))
  } catch (error) {
    const why = 'Nobody signs in with it. Links by e-mail and of "./ipid dashboard" work.'
    const tlsRemedy = error instanceof NoAnswerError ? error.remedy : undefined
    const remedy =
      tlsRemedy ??
      `check OIDC_ISSUER: ${issuer.replace(/\/$/, '')}/.well-known/openid-configuration must answer this machine`
    found.push(problem(`OIDC_ISSUER does not answer: ${causeText(error)}`, why, remedy))
  }
  if (config.dashboardUrl === undefined) {
    const why = `The provider leads people back to ${redirectUri}, which only this machine reaches.`
    found.push(risk('OIDC_ISSUER is set, and DASHBOARD_URL is not', why, 'set DASHBOARD_URL=https://NAME'))
  }
  if (config.oidcTrustEmail === 'on') {
    const why = 'If people can choose their address there, they sign in as others.'
    const remedy = 'unset OIDC_TRUST_EMAIL, unless only admins of the provider set addresses'
    found.push(risk('OIDC_TRUST_EMAIL is on', why, remedy))
  }
  return found
}
