import { group, text } from '@trunkline/config';

export const operatorOptions = group('Operator', {
  operatorTopic: text({
    env: 'OPERATOR_TOPIC',
    default: 'message.outbound.chat.alert',
    doc: 'Where messages to the operator go, such as message.outbound.chat.dm.user.<id> or message.outbound.messenger.<number>.',
  }),
});
