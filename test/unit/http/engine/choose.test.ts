import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HTTP_ENGINES } from '../../../../src/config/settings.ts'
import { chooseEngine, ENGINE_CHOICES, findUws } from '../../../../src/http/engine/choose.ts'
import { canSharePorts } from '../../../../src/http/engine/node/engine.ts'
import { StartupError } from '../../../../src/run/errors.ts'

test('the setting accepts the available engines', () => {
  assert.deepEqual([...HTTP_ENGINES], [...ENGINE_CHOICES])
})

test('the native engine is used if it loads, else Node.js, with the remedy', async () => {
  const chosen = await chooseEngine('auto')
  const isNative = chosen.name === 'uWebSockets.js'
  assert.equal(isNative, chosen.note === undefined)
  if (isNative) {
    assert.equal((await chooseEngine('uWebSockets.js')).name, 'uWebSockets.js')
    assert.match(chosen.version!, /^20\.(?:57\.0|30\.0-unofficial\.0)$/)
  } else {
    assert.match(chosen.note!, new RegExp(`uWebSockets\\.js .* Node\\.js ${process.versions.node} on .*README`))
    await assert.rejects(chooseEngine('uWebSockets.js'), StartupError)
  }
  assert.deepEqual(Object.keys(await chooseEngine('node:http')).sort(), ['create', 'name'])
})

test('a time of idle connections is set only for an engine that can do it', async () => {
  const chosen = await chooseEngine('auto', true)
  assert.equal(chosen.name, 'node:http')
  assert.match(chosen.note!, /HTTP_IDLE_SECONDS is set, and uWebSockets\.js ends/)
  assert.equal((await chooseEngine('node:http', true)).note, undefined)
  await assert.rejects(chooseEngine('uWebSockets.js', true), /unset HTTP_IDLE_SECONDS, or set HTTP_ENGINE=node:http/)
})

test('a package that is not installed, as in the image, is reported as missing', () => {
  const here = `Node.js ${process.versions.node} on ${process.platform}-${process.arch}`
  assert.equal(findUws(['no-such-engine']), `no-such-engine cannot be loaded by ${here}: it is not installed`)
})

test('ports are shared if the system and Node.js can', () => {
  const shared = ['20.19.5', '22.11.0', '22.12.0', '23.0.0', '23.1.0', '24.0.0'].map((node) =>
    canSharePorts(node, 'linux'),
  )
  assert.deepEqual(shared, [false, false, true, false, true, true])
  assert.equal(canSharePorts('24.0.0', 'darwin'), false)
})
