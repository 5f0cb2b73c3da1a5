import assert from 'node:assert/strict'
import { test } from 'node:test'
import { knownDomainOf } from '../../../src/pipeline/event/known-domain.ts'

/** The known domain of an event with these parts. */
function known(parts: { properties?: unknown; user?: unknown; extra?: unknown }): string {
  const text = (value: unknown) => (value === undefined ? '' : JSON.stringify(value))
  return knownDomainOf({
    properties: text(parts.properties),
    userProperties: text(parts.user),
    extra: text(parts.extra),
  })
}

test('the address is found where tools put it, in any case', () => {
  const email = 'Jane.Doe+news@Mail.Acme.co.uk'
  for (const parts of [
    { user: { email } },
    { user: { EMAIL: email } },
    { user: { $email: email } },
    { user: { work_email: ` ${email} ` } },
    { user: { emailAddress: `Jane Doe <${email}>` } },
    { properties: { plan: 'a@b', Email: email } },
    { properties: { $set: { email } } },
    { properties: { $set_once: { email } } },
    { properties: { context: { traits: { email } } } },
    { extra: { email } },
    { extra: { traits: { email } } },
    { extra: { context: { traits: { email } } } },
    { user: { email: 'jane@gmail.com' }, properties: { email } },
  ]) {
    assert.equal(known(parts), 'acme.co.uk', JSON.stringify(parts))
  }
})

test('a domain in any script is one domain', () => {
  assert.equal(known({ user: { email: 'a@münchen.de' } }), 'xn--mnchen-3ya.de')
  assert.equal(known({ user: { email: 'a@xn--mnchen-3ya.de' } }), 'xn--mnchen-3ya.de')
})

test('user properties win over event properties', () => {
  const [user, extra, properties] = ['user', 'extra', 'event'].map((name) => ({ email: `a@${name}.com` }))
  assert.equal(known({ user, extra, properties }), 'user.com')
  assert.equal(known({ extra, properties }), 'extra.com')
})

test('other people, other fields and bad addresses say nothing about the visitor', () => {
  for (const parts of [
    {},
    { properties: {} },
    { properties: { invitee: { email: 'a@acme.com' } } },
    { properties: { items: [{ email: 'a@acme.com' }] } },
    { properties: { contact: 'a@acme.com' } },
    { user: { email: 'acme.com' } },
    { user: { email: 'a@acme' } },
    { user: { email: 'a@192.0.2.1' } },
    { user: { email: 'a@co.uk' } },
    { user: { email: 'a@b@acme.com' } },
    { user: { email: '12+a@users.noreply.github.com' } },
    { user: { email: 'a@privaterelay.appleid.com' } },
    { user: { email: 'a@acme.onmicrosoft.com' } },
    { user: { email: 'a@vodafone.de' } },
    { user: { email: { value: 'a@acme.com' } } },
    { user: ['a@acme.com'] },
    { properties: 'a@acme.com' },
    { extra: { context: { page: { traits: { user: { email: 'a@acme.com' } } } } } },
  ]) {
    assert.equal(known(parts), '', JSON.stringify(parts))
  }
})

test('free and disposable mail is no work address', () => {
  const domains =
    'gmail.com yahoo.co.jp hotmail.fr web.de t-online.de qq.com mail.ru proton.me icloud.com mailinator.com yopmail.com eu.yahoo.com'
  for (const domain of domains.split(' ')) assert.equal(known({ user: { email: `a@${domain}` } }), '', domain)
  for (const domain of ['apple.com', 'sap.com', 'ethz.ch'])
    assert.equal(known({ user: { email: `a@${domain}` } }), domain)
})
