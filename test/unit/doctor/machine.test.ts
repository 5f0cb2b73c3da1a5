import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engineRemedy, nodeFinding } from '../../../src/operations/doctor/machine.ts'

test('a Node.js out of support is a risk, from the day on which its support ends', () => {
  const level = (node: string, day: string) =>
    nodeFinding({ node, platform: 'linux', arch: 'x64', glibc: '2.41' }, Date.parse(day)).level
  const november = ['20.20.2', '22.23.3', '24.21.0', '25.9.0', '26.10.0', '30.0.0'].map((node) =>
    level(node, '2026-11-27'),
  )
  assert.deepEqual(november, ['risk', 'fine', 'fine', 'risk', 'fine', 'fine'])
  assert.deepEqual(
    ['2027-04-29', '2027-04-30'].map((day) => level('22.23.3', day)),
    ['fine', 'risk'],
  )
})

test('Node.js is named with its system and C library', () => {
  const seen = (platform: string, glibc?: string) =>
    nodeFinding({ node: '20.20.2', platform, arch: 'arm64', glibc }, Date.parse('2026-11-27')).seen
  assert.equal(seen('linux', '2.36'), 'Node.js 20.20.2 on linux-arm64, glibc 2.36: out of support since 2026-04-30')
  assert.equal(seen('linux'), 'Node.js 20.20.2 on linux-arm64, no glibc: out of support since 2026-04-30')
  assert.equal(seen('darwin'), 'Node.js 20.20.2 on darwin-arm64: out of support since 2026-04-30')
})

test('another system is advised only where the newest engine would not load', () => {
  const short = 'use Node.js 24'
  for (const glibc of ['2.38', '2.41', '3.0']) assert.equal(engineRemedy({ platform: 'linux', glibc }), short)
  assert.equal(engineRemedy({ platform: 'darwin', glibc: undefined }), short)
  for (const glibc of ['2.9', '2.36', undefined]) {
    assert.match(engineRemedy({ platform: 'linux', glibc }), /^use Node\.js 24 on a system with glibc 2\.38 or newer /)
  }
})
