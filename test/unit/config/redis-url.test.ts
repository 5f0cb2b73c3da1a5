import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../../src/config/config.ts'
import { readSentinelUrl } from '../../../src/config/redis-url.ts'
import { shown } from '../../../src/config/values.ts'

const PLAIN = {
  isTls: false,
  username: undefined,
  password: undefined,
  sentinelUsername: undefined,
  sentinelPassword: undefined,
  db: 0,
}

test('a Sentinel address names Sentinels, master, credentials and options', () => {
  assert.deepEqual(readSentinelUrl('redis-sentinel://h1,[::1]:5,h3:26380/my%2Fmaster'), {
    ...PLAIN,
    sentinels: [
      { host: 'h1', port: 26_379 },
      { host: '::1', port: 5 },
      { host: 'h3', port: 26_380 },
    ],
    name: 'my/master',
  })
  const url =
    'rediss-sentinel://us%40er:p%3Ass@h/m?db=3&sentinelUsername=watcher&sentinelPassword=s%26cret&waitReplicas=2'
  assert.deepEqual(readSentinelUrl(url), {
    sentinels: [{ host: 'h', port: 26_379 }],
    name: 'm',
    isTls: true,
    username: 'us@er',
    password: 'p:ss',
    sentinelUsername: 'watcher',
    sentinelPassword: 's&cret',
    db: 3,
  })
  assert.equal(readSentinelUrl('redis-sentinel://:only@h/m').password, 'only')
  assert.equal(readSentinelUrl('redis-sentinel://h/m?sentinelPassword=a+b%20c').sentinelPassword, 'a+b c')
})

const WRONG: [url: string, message: RegExp][] = [
  ['redis-sentinel://h1:26379,h2:26379', /must end with the name of the master, as in redis-sentinel:\/\/h1/],
  ['redis-sentinel://h1:26379/', /must end with the name of the master/],
  ['redis-sentinel:///m', /a Sentinel must be host or host:port, got ""/],
  ['redis-sentinel://h1,,h2/m', /a Sentinel must be host or host:port, got ""/],
  ['redis-sentinel://h1:0/m', /a Sentinel must be host or host:port, got "h1:0"/],
  ['redis-sentinel://h1:99999/m', /a Sentinel must be host or host:port, got "h1:99999"/],
  ['redis-sentinel://user@h1/m', /credentials must be user:password@ or :password@/],
  ['redis-sentinel://u:100%@h1/m', /must be percent-encoded/],
  ['redis-sentinel://h1/m?db=one', /db must be a whole number/],
  ['redis-sentinel://h1/m?waitReplicas=-1', /waitReplicas must be a whole number from 0 to 100/],
  ['redis-sentinel://h1/m?commandTimeout=1', /must be among db, .*, got commandTimeout/],
  ['redis-sentinel://h1/m/0', /must be redis-sentinel:\/\/host:port,host:port\/name/],
  ['redis://h1?waitReplicas=x', /waitReplicas must be a whole number/],
  ['redis://h1:6379/abc', /the path must be the number of a database, as in redis:\/\/host:6379\/0$/],
  ['redis://h1:6379/0/1', /the path must be the number of a database/],
  ['rediss://h1?db=one', /db must be a whole number/],
  ['redis://:100%@h1', /must be percent-encoded/],
  ['redis://h1?commandTimeout=1', /options must be among family, db, .*, got commandTimeout$/],
  ['redis-cluster://h1:7000,h2:99999', /a node of a cluster must be host:port, got "h2:99999"$/],
  ['redis-cluster://h1', /a node of a cluster must be host:port, got "h1"$/],
  ['redis-cluster://', /a node of a cluster must be host:port, got ""$/],
  ['redis-cluster://secret@h1:7000', /credentials must be user:password@ or :password@$/],
  ['redis-cluster://:se@cret@h1:7000', /characters of a user or password must be percent-encoded, as %40 for @$/],
  ['rediss-cluster://:100%@h1:7000', /must be percent-encoded/],
  ['redis-cluster://h1:7000/1', /redis-cluster:\/\/ has only the database 0$/],
  ['redis-cluster://h1:7000?db=1', /options of redis-cluster:\/\/ must be among waitReplicas, got db$/],
  ['redis-cluster://h1:7000?waitReplicas=x', /waitReplicas must be a whole number/],
]

for (const [url, message] of WRONG) {
  test(`an address that is wrong is refused under the name of its setting: ${url}`, () => {
    assert.throws(
      () => readConfig({ REDIS_URL: url }),
      (error: Error) => {
        assert.match(error.message, /^REDIS_URL "/)
        assert.match(error.message, message)
        return true
      },
    )
  })
}

for (const character of ['@', '/', '?', '#', ' ', '://', '=', '&']) {
  test(`a password that is not percent-encoded is not shown, and the remedy is: ${character}`, () => {
    for (const url of [
      `redis-sentinel://u:sec${character}ret@h1:26379/m`,
      `redis-sentinel://:sec${character}ret@h1:26379`,
      `redis://:sec${character}ret@h1:6379`,
    ]) {
      assert.doesNotMatch(shown(url), /sec|ret/)
      let message = ''
      try {
        readConfig({ REDIS_URL: url })
      } catch (error) {
        message = (error as Error).message
      }
      assert.doesNotMatch(message, /sec|ret/)
      const unreadable = url.startsWith('redis:') ? /[/?#]/ : /[@/?# ]/
      if (unreadable.test(character)) assert.match(message, /percent-encoded, as %40 for @$/)
    }
    // Digits may be taken for a port, so that the rest is taken for a path or an option.
    for (const url of [`redis://u:12${character}ret@h1`, `redis-sentinel://u:1/m${character}ret@h1/m`]) {
      const read = () => readConfig({ REDIS_URL: url })
      if (/[/?#]/.test(character)) assert.throws(read, (error: Error) => !error.message.includes('ret'))
    }
    assert.doesNotMatch(shown(`redis://u:sec${character}ret@h1:6379/0?password=secret`), /sec|ret/)
  })
}

test('an address is shown without any of its passwords', () => {
  const url = 'redis-sentinel://u:one@h1,h2/m?sentinelUsername=w&sentinelPassword=two&db=1'
  assert.equal(shown(url), '"redis-sentinel://u:***@h1,h2/m?sentinelUsername=w&sentinelPassword=***&db=1"')
  assert.equal(shown('redis://h?password=two'), '"redis://h?password=***"')
  assert.throws(
    () => readConfig({ REDIS_URL: `${url}&x=1` }),
    (error: Error) => !/one|two/.test(error.message),
  )
})
