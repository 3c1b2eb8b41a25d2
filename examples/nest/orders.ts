import { Body, Controller, HttpCode, Injectable, Module, Post, UseGuards } from '@nestjs/common';
import type { Sender } from 'hookplane';
import { InjectSender } from 'hookplane/nest';
import { AuthGuard, AuthModule, CurrentUser, type User } from './auth.js';

export interface Order {
  item: string;
  quantity: number;
}

@Injectable()
export class OrdersService {
  constructor(@InjectSender() private readonly sender: Sender) {}

  async place(order: Order, user: User): Promise<{ messageId: string }> {
    // In real life the order is stored first. When `send` has answered, the message is on the disk.
    const message = await this.sender.send({ type: 'order.created', tenantId: user.orgId, data: order });
    return { messageId: message.id };
  }
}

@Controller('orders')
@UseGuards(AuthGuard)
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @HttpCode(202)
  place(@Body() order: Order, @CurrentUser() user: User): Promise<{ messageId: string }> {
    return this.orders.place(order, user);
  }
}

@Module({ imports: [AuthModule], controllers: [OrdersController], providers: [OrdersService] })
export class OrdersModule {}
